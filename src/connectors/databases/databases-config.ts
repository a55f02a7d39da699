import { optionalSection, SECRET_SOURCE, type Settings } from '../../core/config/config-section.ts';

const POSTGRES = optionalSection(
  {
    host: { type: 'string', minLength: 1, maxLength: 255, default: 'localhost', description: 'Name, address, or folder of its socket' },
    port: { type: 'integer', minimum: 1, maximum: 65_535, default: 5_432 },
    database: { type: 'string', minLength: 1, maxLength: 63 },
    user: { type: 'string', minLength: 1, maxLength: 63, description: 'A role that may no more than agents shall; never a superuser' },
    password: SECRET_SOURCE,
    tls: { type: 'boolean', default: false, description: 'Encrypted, with a certificate that this machine trusts' },
  },
  ['database', 'user'],
);

/** JSON Schema of `connectors.databases`: the databases that agents may query. A key is the name of a database. */
export const DATABASES_SECTION = {
  type: 'object',
  maxProperties: 50,
  propertyNames: { pattern: '^[a-z0-9][a-z0-9_-]{0,31}$' },
  additionalProperties: {
    ...optionalSection({
      sqlite: { type: 'string', pattern: '^/', maxLength: 1_000, description: 'A file of SQLite, from / on' },
      postgres: POSTGRES,
      writable: { type: 'boolean', default: false, description: 'Whether statements may change something' },
      timeout_seconds: { type: 'integer', minimum: 1, maximum: 60, default: 10, description: 'For one statement' },
    }),
    oneOf: [{ required: ['sqlite'] }, { required: ['postgres'] }],
  },
} as const;

/** Settings of the connection to a PostgreSQL server. */
export type PostgresConfig = Settings<typeof POSTGRES>;

/** Settings of one database, which is either an SQLite file or a PostgreSQL server. */
export type DatabaseConfig = Settings<typeof DATABASES_SECTION>[string];
