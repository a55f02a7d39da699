import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseCheckedYaml } from './core/checked-yaml.ts';
import type { AttestationPolicy } from './core/device-administration.ts';
import { AtmoError } from './core/errors.ts';
import { LOG_LEVELS, type LogLevel } from './core/logger.ts';

/** Everything the owner can set; the file's keys are the members in snake_case. */
export interface HubConfig {
  readonly stateDir: string;
  readonly logLevel: LogLevel;
  readonly http: { readonly host: string; readonly port: number };
  readonly matter: {
    readonly isEnabled: boolean;
    /** Network interface; all when absent. */
    readonly interface?: string;
    readonly attestation: AttestationPolicy;
    readonly isBleEnabled: boolean;
    /** Folder with JSON models of manufacturers' clusters. */
    readonly clusterModelsDir: string;
  };
  readonly tools: {
    readonly manifestFile: string;
    readonly disabled: readonly string[];
    readonly maxConcurrent: number;
    readonly maxQueued: number;
    /** Packages that manifest entries `plugin:<name>` may load. */
    readonly plugins: readonly string[];
  };
  /** Folder with the owner's own profile files. */
  readonly profilesDir: string;
  /** How long single readings, 5-minute sums and hourly sums are kept. */
  readonly history: { readonly rawDays: number; readonly fiveMinuteDays: number; readonly hourlyDays: number };
}

const positive = { type: 'integer', minimum: 1 };
const names = { type: 'array', items: { type: 'string' }, default: [] };
const section = (properties: object) => ({ type: 'object', additionalProperties: false, default: {}, properties });

/** JSON Schema of the configuration file. */
export const CONFIG_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: {
    log: { enum: LOG_LEVELS, default: 'info' },
    http: section({ host: { type: 'string', default: '127.0.0.1' }, port: { type: 'integer', minimum: 0, maximum: 65535, default: 8081 } }),
    matter: section({
      enabled: { type: 'boolean', default: true },
      interface: { type: 'string', minLength: 1 },
      attestation: { enum: ['strict', 'ask', 'off'], default: 'ask' },
      ble: { type: 'boolean', default: false },
      cluster_models: { type: 'string' },
    }),
    tools: section({
      manifest: { type: 'string' },
      disabled: names,
      max_concurrent: { ...positive, maximum: 10_000, default: 256 },
      max_queued: { ...positive, maximum: 100_000, default: 1024 },
      plugins: names,
    }),
    profiles: { type: 'string' },
    history: section({
      raw_days: { ...positive, default: 7 },
      five_minute_days: { ...positive, default: 30 },
      hourly_days: { ...positive, default: 365 },
    }),
  },
} as const;

interface ConfigFile {
  log: LogLevel;
  http: { host: string; port: number };
  matter: { enabled: boolean; interface?: string; attestation: AttestationPolicy; ble: boolean; cluster_models?: string };
  tools: {
    manifest?: string;
    disabled: string[];
    max_concurrent: number;
    max_queued: number;
    plugins: string[];
  };
  profiles?: string;
  history: { raw_days: number; five_minute_days: number; hourly_days: number };
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the file named by ATMO_CONFIG, else `config.yaml` in the state directory or in /etc/atmosphere-edge; environment
 * variables win over the file. Throws CONFIG_INVALID with file and line, or the variable's name.
 */
export function loadConfig(env: Environment, stateDir: string): HubConfig {
  const file = parseCheckedYaml(...readConfigText(env, stateDir), CONFIG_SCHEMA) as ConfigFile;
  return {
    stateDir,
    logLevel: logLevelOf(env.ATMO_LOG) ?? file.log,
    http: { host: env.ATMO_HTTP_HOST ?? file.http.host, port: portOf('ATMO_HTTP_PORT', env.ATMO_HTTP_PORT) ?? file.http.port },
    matter: {
      isEnabled: file.matter.enabled,
      ...matterInterface(env.ATMO_MATTER_INTERFACE || file.matter.interface),
      attestation: file.matter.attestation,
      isBleEnabled: file.matter.ble,
      clusterModelsDir: file.matter.cluster_models ?? join(stateDir, 'cluster-models'),
    },
    tools: {
      manifestFile: file.tools.manifest ?? join(stateDir, 'tools.yaml'),
      disabled: file.tools.disabled,
      maxConcurrent: file.tools.max_concurrent,
      maxQueued: file.tools.max_queued,
      plugins: file.tools.plugins,
    },
    profilesDir: file.profiles ?? join(stateDir, 'profiles'),
    history: {
      rawDays: file.history.raw_days,
      fiveMinuteDays: file.history.five_minute_days,
      hourlyDays: file.history.hourly_days,
    },
  };
}

const matterInterface = (name: string | undefined) => (name === undefined ? {} : { interface: name });

function readConfigText(env: Environment, stateDir: string): [text: string, file: string] {
  if (env.ATMO_CONFIG) {
    if (!existsSync(env.ATMO_CONFIG)) throw new AtmoError('CONFIG_INVALID', `ATMO_CONFIG names ${env.ATMO_CONFIG}, which does not exist`);
    return [readFileSync(env.ATMO_CONFIG, 'utf8'), env.ATMO_CONFIG];
  }
  const found = [join(stateDir, 'config.yaml'), '/etc/atmosphere-edge/config.yaml'].find((path) => existsSync(path));
  return found ? [readFileSync(found, 'utf8'), found] : ['{}', 'built-in defaults'];
}

function portOf(variable: string, text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65535) return port;
  throw new AtmoError('CONFIG_INVALID', `${variable} is ${JSON.stringify(text)}; it must be a port from 0 to 65535`);
}

function logLevelOf(text: string | undefined): LogLevel | undefined {
  if (text === undefined || text === '') return undefined;
  const level = LOG_LEVELS.find((known) => known === text);
  if (level) return level;
  throw new AtmoError('CONFIG_INVALID', `ATMO_LOG is ${JSON.stringify(text)}; it must be one of ${LOG_LEVELS.join(', ')}`);
}
