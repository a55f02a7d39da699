import { optionalSection, type Settings } from '../../core/config/config-section.ts';

/** JSON Schema of `connectors.files`: folders that agents may work in. */
export const FILES_SECTION = optionalSection(
  {
    roots: {
      type: 'object',
      minProperties: 1,
      maxProperties: 50,
      propertyNames: { pattern: '^[a-z0-9][a-z0-9_-]{0,31}$', not: { const: 'roots' } },
      additionalProperties: optionalSection(
        {
          path: { type: 'string', pattern: '^/', maxLength: 1_000, description: 'The folder, from / on' },
          writable: { type: 'boolean', default: false, description: 'Whether agents may write in it' },
        },
        ['path'],
      ),
      description: 'Folders by the names under which agents know them',
    },
  },
  ['roots'],
);

/** A folder that agents may work in. */
export type FileRoot = Settings<typeof FILES_SECTION>['roots'][string];
