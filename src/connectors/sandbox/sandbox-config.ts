import { optionalSection, SECRET_SOURCE, type Settings, section } from '../../core/config/config-section.ts';

const NAME = { pattern: '^[a-z][a-z0-9_-]{0,31}$' } as const;
const text = { type: 'string', minLength: 1, maxLength: 1024 } as const;
const texts = { type: 'array', items: text, maxItems: 64, default: [] } as const;
const folders = { ...texts, items: { ...text, pattern: '^/' } } as const;

/** JSON Schema of `connectors.sandbox`. */
export const SANDBOX_SECTION = section({
  bubblewrap: { ...text, description: 'Path of bwrap; looked for in the usual folders when absent' },
  memory_mb: { type: 'integer', minimum: 8, maximum: 65_536, default: 128 },
  processes: { type: 'integer', minimum: 1, maximum: 4096, default: 32 },
  output_kb: { type: 'integer', minimum: 1, maximum: 65_536, default: 1024 },
  temp_mb: { type: 'integer', minimum: 1, maximum: 4096, default: 16 },
  cpu_seconds: { type: 'integer', minimum: 1, maximum: 86_400, default: 60 },
  max_concurrent: { type: 'integer', minimum: 1, maximum: 64, default: 2, description: 'Programs at the same time; others wait' },
  container_engine: { ...text, description: 'podman, docker, or the path of one that takes the same arguments' },
  powers: {
    type: 'object',
    default: {},
    propertyNames: NAME,
    additionalProperties: optionalSection({
      network: { type: 'boolean', default: false },
      read: folders,
      write: folders,
      env: { type: 'object', default: {}, propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }, additionalProperties: SECRET_SOURCE },
    }),
  },
  commands: {
    type: 'object',
    default: {},
    propertyNames: { pattern: '^[a-z][a-z0-9_]{0,31}$' },
    additionalProperties: optionalSection(
      {
        description: { ...text, description: 'For people and models' },
        argv: { type: 'array', items: text, minItems: 1, maxItems: 64 },
        parameters: { type: 'object', default: {}, additionalProperties: { type: 'object' } },
        optional: { ...texts, description: 'Parameters that may be left out' },
        powers: { ...texts, items: { type: 'string', ...NAME } },
        cwd: { ...text, pattern: '^/' },
        approval: { type: 'boolean', default: true, description: 'A person approves each call' },
        timeout_seconds: { type: 'integer', minimum: 1, maximum: 600, default: 30 },
      },
      ['description', 'argv'],
    ),
  },
  default_safety_rules: { type: 'boolean', default: true },
  safety_rules: {
    type: 'array',
    default: [],
    maxItems: 64,
    items: optionalSection({ name: text, forbidden_patterns: { ...texts, minItems: 1 } }, ['name', 'forbidden_patterns']),
  },
});

/** Settings of a power: the network, folders and environment variables that a program with this power can use. */
export type PowerConfig = SandboxConfig['powers'][string];

/** Settings of a permitted command: its command line, with placeholders for parameters. */
export type CommandConfig = SandboxConfig['commands'][string];

/** `connectors.sandbox` of the configuration. */
export type SandboxConfig = Settings<typeof SANDBOX_SECTION>;
