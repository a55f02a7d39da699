import { optionalSection, SECRET_SOURCE } from '../../core/config/config-section.ts';

const text = { type: 'string', minLength: 1, maxLength: 200 } as const;

/** JSON Schema of `connectors.nats`. */
export const NATS_SECTION = optionalSection(
  {
    servers: { type: 'array', minItems: 1, maxItems: 8, items: { type: 'string', pattern: '^(nats|tls)://', maxLength: 300 } },
    user: text,
    password: SECRET_SOURCE,
    token: SECRET_SOURCE,
    subject_prefix: { type: 'string', maxLength: 64, pattern: '^([A-Za-z0-9_-]+\\.)*$', default: '', description: 'Such as home.' },
    types: { type: 'array', maxItems: 32, items: text, default: ['agi.tool.*'], description: 'Event types or parts such as device.*' },
  },
  ['servers'],
);
