import { SITE_PATTERN } from '../../codec/messages/membership.ts';
import { CONNECTORS_SECTION } from '../../connectors/connectors-config.ts';
import { LONGEST_WAIT_MS } from '../../core/auth/approvals.ts';
import { type FileValue, section } from '../../core/config/config-section.ts';
import { LOG_LEVELS } from '../../core/logger.ts';
import { ACME_SECTION } from '../../http/tls/acme-config.ts';
import { SENSORS_SECTION } from '../../sensors/sensor-config.ts';
import { MEMORY_PROFILES } from './memory-profile.ts';

const positive = { type: 'integer', minimum: 1 } as const;
const names = { type: 'array', items: { type: 'string' }, default: [] } as const;
/** How long a request for approval may wait: at most a day, since the person should still remember why it was asked. */
const waitMinutes = { ...positive, maximum: LONGEST_WAIT_MS / 60_000 } as const;
/** Default of `tools.fail_over`. These tools only send a URL to the public internet, so another hub can run them just as well. */
const READS_PUBLIC_PAGES = ['fetch_url', 'http_get', 'fetch', 'html_scraper'] as const;

/** JSON Schema of the configuration file. */
export const CONFIG_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: {
    log: { enum: LOG_LEVELS, default: 'info' },
    memory: { enum: MEMORY_PROFILES, default: 'normal' },
    http: section({
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'integer', minimum: 0, maximum: 65535, default: 8081 },
      proxy_url: { type: 'string', format: 'uri', pattern: '^https://[A-Za-z0-9.-]+(:[0-9]{1,5})?/?$', maxLength: 261 },
      oauth: { type: 'boolean', default: true },
      tls: section({
        enabled: { type: 'boolean' },
        names: { ...names, items: { type: 'string', pattern: '^[A-Za-z0-9.:-]{1,253}$' }, maxItems: 32 },
        certificate_file: { type: 'string', minLength: 1 },
        key_file: { type: 'string', minLength: 1 },
        acme: ACME_SECTION,
      }),
    }),
    capabilities: section({ gpu: { type: 'boolean' } }),
    matter: section({
      enabled: { type: 'boolean', default: true },
      interface: { type: 'string', minLength: 1 },
      attestation: { enum: ['strict', 'ask', 'off'], default: 'ask' },
      ble: { type: 'boolean', default: false },
      bridge_port: { type: 'integer', minimum: 1024, maximum: 65_000 },
      cluster_models: { type: 'string' },
      updates: { type: 'string', minLength: 1 },
    }),
    tools: section({
      manifest: { type: 'string' },
      bootstrap: { type: 'string', minLength: 1 },
      allowed_permissions: { type: 'array', items: { type: 'string', minLength: 1 } },
      disabled: names,
      fail_over: { ...names, default: READS_PUBLIC_PAGES },
      max_concurrent: { ...positive, maximum: 10_000 },
      max_queued: { ...positive, maximum: 100_000 },
      max_concurrent_per_caller: { ...positive, maximum: 10_000 },
      max_calls_per_session: { ...positive, maximum: 1_000_000, default: 10_000 },
      max_params_bytes: { ...positive, maximum: 65_536, default: 65_536 },
      default_timeout_ms: { ...positive, maximum: 600_000, default: 30_000 },
      invalid_results: { enum: ['error', 'warn'], default: 'error' },
      undescribed_parameters: { enum: ['keep', 'refuse'], default: 'keep' },
      log_calls: { type: 'boolean', default: true },
      dynamic_registration: { type: 'boolean', default: true },
      plugins: names,
      features: { type: 'object', additionalProperties: names, default: {} },
    }),
    mesh: section({
      name: { type: 'string', minLength: 1, maxLength: 64 },
      site: { type: 'string', pattern: SITE_PATTERN },
      host: { type: 'string', default: '' },
      port: { type: 'integer', minimum: 0, maximum: 65535, default: 8082 },
      interfaces: names,
      peers: { ...names, items: { type: 'string', minLength: 1, maxLength: 261 }, maxItems: 64 },
      announce_addresses: { ...names, items: { type: 'string', minLength: 1, maxLength: 261 }, maxItems: 8 },
      announce_devices: { type: 'boolean', default: true },
      discovery: { type: 'boolean', default: true },
      relay: { type: 'boolean', default: true },
      max_peers: { ...positive, maximum: 256 },
      pre_shared_key_file: { type: 'string' },
    }),
    sensors: SENSORS_SECTION,
    connectors: CONNECTORS_SECTION,
    rules: { type: 'string' },
    approvals: section({
      wait_minutes: section({
        default: { ...waitMinutes, default: 10 },
        devices: waitMinutes,
        programs: waitMinutes,
        administration: waitMinutes,
      }),
    }),
    roles: {
      type: 'object',
      default: {},
      propertyNames: { pattern: '^[a-z][a-z0-9_-]{0,31}$' },
      additionalProperties: {
        type: 'object',
        additionalProperties: false,
        required: ['permissions'],
        properties: {
          permissions: { type: 'array', minItems: 1, items: { type: 'string' } },
          ttl_seconds: { ...positive },
          max_hops: { type: 'integer', minimum: 0, maximum: 16 },
          rate_per_minute: positive,
          features: names,
        },
      },
    },
    clock: section({ trust: { enum: ['auto', 'always', 'never'], default: 'auto' } }),
    audit: section({
      keep_days: { ...positive, default: 365 },
      max_mb: { ...positive, default: 256 },
    }),
    backup: section({ folder: { type: 'string', minLength: 1 } }),
    updates: section({ version_url: { type: 'string', format: 'uri', pattern: '^https://[^@\\s]+$', maxLength: 500 } }),
    profiles: { type: 'string' },
    history: section({
      raw_days: { ...positive, default: 7 },
      five_minute_days: { ...positive, default: 30 },
      hourly_days: { ...positive, default: 365 },
    }),
  },
} as const;

/** The content of the configuration file. It matches the schema, and its defaults are filled in. */
export type ConfigFile = FileValue<typeof CONFIG_SCHEMA>;
