import { optionalSection, type Settings } from '../../core/config/config-section.ts';

const LABEL = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';
/** A host name with at least two labels, in lower case, and no address. Wildcards are left out: the hub has the names that clients type. */
const HOST_NAME = `^(?=.{3,253}$)(?!.*\\.[0-9]+$)${LABEL}(\\.${LABEL})+$`;

/** JSON Schema of `http.tls.acme`. */
export const ACME_SECTION = optionalSection(
  {
    names: { type: 'array', minItems: 1, maxItems: 8, uniqueItems: true, items: { type: 'string', pattern: HOST_NAME } },
    directory: {
      type: 'string',
      format: 'uri',
      pattern: '^https://[^@\\s]+$',
      maxLength: 512,
      default: 'https://acme-v02.api.letsencrypt.org/directory',
      description: 'ACME directory of the certificate authority',
    },
    agree_to_terms: { enum: [true], description: 'That you agree to the terms of service of this authority' },
    email: { type: 'string', pattern: '^[^@\\s,?]+@[^@\\s,?]+$', maxLength: 254, description: 'Where the authority may write to' },
    ca_file: {
      type: 'string',
      minLength: 1,
      description: "Certificate in PEM that has signed the directory's own, where it is a private one",
    },
    dns_command: {
      type: 'array',
      minItems: 1,
      maxItems: 32,
      items: { type: 'string', minLength: 1, maxLength: 1_024 },
      description: 'Program with its arguments that adds and removes a TXT record',
    },
    dns_wait_seconds: {
      type: 'integer',
      minimum: 0,
      maximum: 3_600,
      default: 60,
      description: 'Time that a new record needs until the whole world sees it',
    },
  },
  ['names', 'agree_to_terms', 'dns_command'],
);

/** `http.tls.acme`: how the hub gets a certificate for its names from an authority that browsers trust. */
export type AcmeConfig = Settings<typeof ACME_SECTION>;
