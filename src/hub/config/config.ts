import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { CONNECTORS_SECTION, type ConnectorsConfig } from '../../connectors/connectors-config.ts';
import type { ApprovalWaits } from '../../core/auth/approvals.ts';
import { parseGrant } from '../../core/auth/permission.ts';
import { parseCheckedYaml } from '../../core/config/checked-yaml.ts';
import { type ConfigReload, camelKeys } from '../../core/config/config-section.ts';
import type { AttestationPolicy } from '../../core/devices/device-administration.ts';
import { AtmoError, systemCode } from '../../core/errors.ts';
import { OwnerFile } from '../../core/files/owner-file.ts';
import { acceptedTextInCopy } from '../../core/files/recoverable-file.ts';
import { isJsonObject, present } from '../../core/json.ts';
import { LOG_LEVELS, type LogLevel } from '../../core/logger.ts';
import { ACME_SECTION, type AcmeConfig } from '../../http/tls/acme-config.ts';
import type { MeshSettings } from '../../mesh/mesh-control.ts';
import { SENSORS_SECTION, type SensorsConfig } from '../../sensors/sensor-config.ts';
import { checkRoles } from '../../tools/builtin/token-roles.ts';
import { CONFIG_SCHEMA, type ConfigFile } from './config-file.ts';
import { MEMORY_PROFILES, type MemoryProfile, type MemoryProfileName, memoryProfile } from './memory-profile.ts';

/** A setting whose value is a path: its dotted key and the absolute path. */
interface ConfiguredPath {
  readonly key: string;
  readonly path: string;
}

/** The rights and limits of the tokens that are minted for a role. */
interface RoleConfig {
  readonly permissions: readonly string[];
  readonly ttlSeconds?: number;
  readonly maxHops?: number;
  readonly ratePerMinute?: number;
  readonly features: readonly string[];
}

/** Settings of TLS for connections from other machines. */
interface TlsConfig {
  /** Whether to use TLS; default: TLS unless the server listens on a loopback address. */
  readonly isEnabled?: boolean;
  /** Further host names and addresses under which clients reach the hub. */
  readonly names: readonly string[];
  readonly files?: { readonly certificateFile: string; readonly keyFile: string };
  /** How the hub gets a certificate for its names from an authority that browsers trust. */
  readonly acme?: AcmeConfig;
}

/** The owner's settings. The keys of the configuration file are the names of these fields in snake_case. */
export interface HubConfig {
  /** Reads the file again. If it has mistakes, throws CONFIG_INVALID and changes nothing. Absent if the settings come from no file. */
  reload?(): ConfigReload;
  /** If the current file cannot be used, returns the reason; earlier valid settings are then in force. Otherwise returns undefined. */
  problem?(): string | undefined;
  readonly stateDir: string;
  readonly logLevel: LogLevel;
  /** What bounds the memory of the hub. */
  readonly memory: MemoryProfile;
  readonly http: {
    readonly host: string;
    readonly port: number;
    /** URL at which a reverse proxy on this machine offers the hub. */
    readonly proxyUrl?: string;
    /** Whether persons can give applications access by OAuth. */
    readonly isOAuthEnabled: boolean;
    readonly tls: TlsConfig;
  };
  readonly matter: {
    readonly isEnabled: boolean;
    /** Network interface; default: all. */
    readonly interface?: string;
    readonly attestation: AttestationPolicy;
    readonly isBleEnabled: boolean;
    /** UDP port of the first bridge to other ecosystems, and of each further one the next; default: the kernel chooses them. */
    readonly bridgePort?: number;
    readonly clusterModelsDir: string;
    /** Folder with software images for updates of devices. */
    readonly updatesDir: string;
  };
  readonly tools: {
    readonly manifestFile: string;
    /** Possible paths of the file with tools to register at each start. The hub reads the first file that exists. */
    readonly bootstrapFiles: readonly [string, ...string[]];
    /** The permissions that registered tools may require; default: all except administration. */
    readonly allowedPermissions?: readonly string[];
    readonly disabled: readonly string[];
    /** Names of tools whose calls may go to another hub. A call goes there if this hub cannot reach the tool's service. */
    readonly failOver: readonly string[];
    readonly maxConcurrent: number;
    readonly maxQueued: number;
    readonly maxConcurrentPerCaller: number;
    readonly maxCallsPerSession: number;
    /** Longest JSON text of a call's parameters, in UTF-8 bytes. */
    readonly maxParamsBytes: number;
    /** Timeout in milliseconds for tools that declare no timeout. */
    readonly defaultTimeoutMs: number;
    /** What happens if a result does not match the tool's schema. `error`: the call fails. `warn`: the log gets a warning. */
    readonly resultInvalid: 'error' | 'warn';
    /** True if the hub refuses a tool when the linter warns that a parameter has no type, or that a parameter has no description. */
    readonly refusesUndescribed: boolean;
    readonly logsCalls: boolean;
    /** The feature flags that each tool requires. A key is a tool's id or name. An agent has the flags of its role. */
    readonly features: Readonly<Record<string, readonly string[]>>;
    /** Whether a program that embeds the hub may add and remove tools. */
    readonly isDynamicRegistrationAllowed: boolean;
    /** Names of packages that manifest entries `plugin:<name>` may load. */
    readonly plugins: readonly string[];
  };
  readonly mesh: MeshSettings & {
    readonly name: string;
    /** Address to listen on; an empty text means all interfaces. */
    readonly host: string;
    readonly port: number;
    readonly maxPeers: number;
    /** Bounds of what is kept about other hubs. */
    readonly limits: MemoryProfile['mesh']['limits'];
    /** File with the pre-shared key (64 hex digits) of the libp2p private network. All mesh members need the same key. */
    readonly preSharedKeyFile?: string;
  };
  /** Capabilities that the owner declares. The hub detects all others. */
  readonly capabilities: { readonly gpu?: boolean };
  readonly sensors: SensorsConfig;
  readonly connectors: ConnectorsConfig;
  readonly rulesFile: string;
  /** How long requests for approval may wait, in milliseconds. Those about locks, valves and garage doors wait ten minutes at most. */
  readonly approvalWaits: ApprovalWaits;
  /** Roles for which tokens can be minted, by name. */
  readonly roles: Readonly<Record<string, RoleConfig>>;
  /** `auto` trusts the machine's clock if there is evidence that it is right, `always` trusts it, `never` trusts only the owner's time. */
  readonly clockTrust: 'auto' | 'always' | 'never';
  /** Maximum age and size of the calls in the audit log. */
  readonly audit: { readonly keepDays: number; readonly maxBytes: number };
  /** Folder for the backups that the hub itself writes; default: `backups` in the state directory. */
  readonly backup: { readonly folder?: string };
  /** URL of the document that names the newest version of the hub; undefined if the hub does not look for one. */
  readonly versionUrl: string | undefined;
  /** Folder in which the package notes how its last upgrade went; undefined if no package runs the hub. */
  readonly upgradeDir: string | undefined;
  /** Folder with the owner's own profile files. */
  readonly profilesDir: string;
  /** The files and folders that the owner set in the configuration. Default paths are not included. */
  readonly namedPlaces: readonly ConfiguredPath[];
  /** How many days the hub stores single readings, 5-minute sums and hourly sums. */
  readonly history: { readonly rawDays: number; readonly fiveMinuteDays: number; readonly hourlyDays: number };
}

const BYTES_PER_MB = 1_048_576;
const MINUTE_MS = 60_000;
/** Keys whose value is a path. A relative path starts at the configuration file's folder. */
const PATH_KEYS = [
  ...['rules', 'profiles', 'tools.manifest', 'tools.bootstrap', 'matter.cluster_models', 'matter.updates'],
  ...['backup.folder', 'mesh.pre_shared_key_file', 'http.tls.certificate_file', 'http.tls.key_file'],
  ...['http.tls.acme.ca_file'],
];

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the file in ATMO_CONFIG. If ATMO_CONFIG is not set, reads `config.yaml` in the state directory, or else in /etc/atmosphere-edge.
 * Environment variables override the file. Throws CONFIG_INVALID with file and line, or with the name of the environment variable.
 */
export function loadConfig(env: Environment, stateDir: string, file = readConfigFile(env, stateDir)): HubConfig {
  const roles = Object.fromEntries(Object.entries(file.roles).map(([name, role]) => [name, roleOf(role)]));
  checkRoles(roles);
  const memory = memoryProfile(memoryNameOf(env.ATMO_MEMORY) ?? file.memory);
  return {
    stateDir,
    logLevel: logLevelOf(env.ATMO_LOG) ?? file.log,
    memory,
    http: {
      host: env.ATMO_HTTP_HOST || file.http.host,
      port: portOf('ATMO_HTTP_PORT', env.ATMO_HTTP_PORT) ?? file.http.port,
      ...(file.http.proxy_url !== undefined && { proxyUrl: file.http.proxy_url }),
      isOAuthEnabled: file.http.oauth,
      tls: tlsOf(file.http.tls),
    },
    matter: {
      isEnabled: file.matter.enabled,
      ...matterInterface(env.ATMO_MATTER_INTERFACE || file.matter.interface),
      attestation: file.matter.attestation,
      isBleEnabled: file.matter.ble,
      ...present({ bridgePort: file.matter.bridge_port }),
      clusterModelsDir: file.matter.cluster_models ?? join(stateDir, 'cluster-models'),
      updatesDir: file.matter.updates ?? join(stateDir, 'updates'),
    },
    tools: toolsOf(file.tools, { env, stateDir, memory }),
    mesh: meshOf(file.mesh, { portText: env.ATMO_MESH_PORT, memory }),
    capabilities: file.capabilities,
    sensors: camelKeys(file.sensors, SENSORS_SECTION),
    connectors: camelKeys(file.connectors, CONNECTORS_SECTION),
    rulesFile: file.rules ?? join(stateDir, 'rules.yaml'),
    approvalWaits: approvalWaitsOf(file.approvals),
    roles,
    clockTrust: file.clock.trust,
    audit: { keepDays: file.audit.keep_days, maxBytes: file.audit.max_mb * BYTES_PER_MB },
    versionUrl: file.updates.version_url,
    upgradeDir: env.ATMO_UPGRADE_DIR || undefined,
    backup: { ...(file.backup.folder !== undefined && { folder: backupFolderOf(file.backup.folder, stateDir) }) },
    profilesDir: file.profiles ?? join(stateDir, 'profiles'),
    namedPlaces: configuredPaths(file).map(({ key, path }) => ({ key, path })),
    history: {
      rawDays: file.history.raw_days,
      fiveMinuteDays: file.history.five_minute_days,
      hourlyDays: file.history.hourly_days,
    },
  };
}

function toolsOf(
  tools: ConfigFile['tools'],
  { env, stateDir, memory }: { readonly env: Environment; readonly stateDir: string; readonly memory: MemoryProfile },
): HubConfig['tools'] {
  return {
    manifestFile: tools.manifest ?? join(stateDir, 'tools.yaml'),
    bootstrapFiles: bootstrapFilesOf(tools.bootstrap, stateDir),
    ...allowedPermissionsOf(env.ALLOWED_TOOL_PERMS, tools.allowed_permissions),
    disabled: tools.disabled,
    failOver: tools.fail_over,
    maxConcurrent: tools.max_concurrent ?? memory.calls.maxConcurrent,
    maxQueued: tools.max_queued ?? memory.calls.maxQueued,
    maxConcurrentPerCaller: tools.max_concurrent_per_caller ?? memory.calls.maxConcurrentPerCaller,
    maxCallsPerSession: tools.max_calls_per_session,
    maxParamsBytes: tools.max_params_bytes,
    resultInvalid: tools.invalid_results,
    refusesUndescribed: tools.undescribed_parameters === 'refuse',
    defaultTimeoutMs: tools.default_timeout_ms,
    logsCalls: tools.log_calls,
    features: tools.features,
    plugins: tools.plugins,
    isDynamicRegistrationAllowed: tools.dynamic_registration,
  };
}

function approvalWaitsOf({ wait_minutes: { default: other, ...minutes } }: ConfigFile['approvals']): ApprovalWaits {
  const { programs = other, administration = other, devices = other } = minutes;
  return {
    programs: programs * MINUTE_MS,
    administration: administration * MINUTE_MS,
    devices: devices * MINUTE_MS,
    other: other * MINUTE_MS,
  };
}

function tlsOf({ enabled, names, certificate_file: certificateFile, key_file: keyFile, acme }: ConfigFile['http']['tls']): TlsConfig {
  if ((certificateFile === undefined) !== (keyFile === undefined)) {
    throw new AtmoError('CONFIG_INVALID', 'http.tls.certificate_file and http.tls.key_file belong together; set both or neither');
  }
  const files = certificateFile !== undefined && keyFile !== undefined ? { certificateFile, keyFile } : undefined;
  if (files && acme) {
    throw new AtmoError('CONFIG_INVALID', 'http.tls.acme and http.tls.certificate_file exclude each other; keep the one that shall count');
  }
  return {
    ...(enabled !== undefined && { isEnabled: enabled }),
    names,
    ...(files && { files }),
    ...(acme && { acme: camelKeys(acme, ACME_SECTION) }),
  };
}

/** Returns the possible paths of the bootstrap file: the configured path, or two default paths if no path is configured. */
function bootstrapFilesOf(own: string | undefined, stateDir: string): readonly [string, ...string[]] {
  return own === undefined ? [join(stateDir, 'tools_bootstrap.json'), join(stateDir, 'config/tools_bootstrap.json')] : [own];
}

/** Returns the permissions that tools may require. `text` is the value of ALLOWED_TOOL_PERMS, which has precedence over `own`. */
function allowedPermissionsOf(
  text: string | undefined,
  own: readonly string[] | undefined,
): { readonly allowedPermissions?: readonly string[] } {
  const listed = text
    ?.split(',')
    .map((permission) => permission.trim())
    .filter((permission) => permission !== '');
  const allowed = listed && listed.length > 0 ? listed : own;
  if (!allowed) return {};
  const wrong = allowed.find((permission) => !parseGrant(permission));
  if (wrong === undefined) return { allowedPermissions: allowed };
  const where = listed === allowed ? 'ALLOWED_TOOL_PERMS' : 'tools.allowed_permissions';
  throw new AtmoError(
    'CONFIG_INVALID',
    `${where} holds ${JSON.stringify(wrong)}, which is no permission such as net:read or device:control:*`,
  );
}

/** Throws CONFIG_INVALID for a folder in the state directory: each backup would contain all backups before it. */
function backupFolderOf(folder: string, stateDir: string): string {
  if (!`${folder}/`.startsWith(`${resolve(stateDir)}/`)) return folder;
  throw new AtmoError('CONFIG_INVALID', `backup.folder names ${folder} inside of the state directory; name a folder on another disk`);
}

function meshOf(
  mesh: ConfigFile['mesh'],
  { portText, memory }: { readonly portText: string | undefined; readonly memory: MemoryProfile },
): HubConfig['mesh'] {
  return {
    name: mesh.name ?? hostname(),
    host: mesh.host,
    port: portOf('ATMO_MESH_PORT', portText) ?? mesh.port,
    interfaces: mesh.interfaces,
    peers: mesh.peers,
    announceAddresses: mesh.announce_addresses,
    announcesDevices: mesh.announce_devices,
    isDiscoveryEnabled: mesh.discovery,
    isRelay: mesh.relay,
    maxPeers: mesh.max_peers ?? memory.mesh.maxPeers,
    limits: memory.mesh.limits,
    ...(mesh.site !== undefined && { site: mesh.site }),
    ...(mesh.pre_shared_key_file !== undefined && { preSharedKeyFile: mesh.pre_shared_key_file }),
  };
}

function roleOf(role: ConfigFile['roles'][string]): RoleConfig {
  return {
    permissions: role.permissions,
    features: role.features,
    ...(role.ttl_seconds !== undefined && { ttlSeconds: role.ttl_seconds }),
    ...(role.max_hops !== undefined && { maxHops: role.max_hops }),
    ...(role.rate_per_minute !== undefined && { ratePerMinute: role.rate_per_minute }),
  };
}

const matterInterface = (name: string | undefined) => (name === undefined ? {} : { interface: name });

/** Returns the path of the file that `loadConfig` reads, or undefined. Throws CONFIG_INVALID if the file in ATMO_CONFIG is missing. */
export function configFileOf(env: Environment, stateDir: string): string | undefined {
  if (env.ATMO_CONFIG) {
    if (!existsSync(env.ATMO_CONFIG)) throw new AtmoError('CONFIG_INVALID', `ATMO_CONFIG names ${env.ATMO_CONFIG}, which does not exist`);
    return env.ATMO_CONFIG;
  }
  return defaultFiles(stateDir).find((path) => existsSync(path));
}

const defaultFiles = (stateDir: string): readonly [string, string] => [join(stateDir, 'config.yaml'), '/etc/atmosphere-edge/config.yaml'];

/** Reads the configuration file and its defaults. No environment variable overrides a setting. Throws CONFIG_INVALID with file and line. */
function readConfigFile(env: Environment, stateDir: string): ConfigFile {
  const path = configFileOf(env, stateDir);
  return path === undefined ? parsedFile('{}', 'built-in defaults') : parsedFile(readConfigText(path), path);
}

/** Returns the settings in a file's text, with absolute paths. */
function parsedFile(text: string, path: string): ConfigFile {
  const file = parseCheckedYaml(text, path, CONFIG_SCHEMA) as ConfigFile;
  for (const place of configuredPaths(file)) place.section[place.name] = resolve(dirname(path), place.path);
  return file;
}

/** Returns a sentence for each path in the configuration that does not exist. */
export function missingPaths({ namedPlaces }: Pick<HubConfig, 'namedPlaces'>): readonly string[] {
  const missing = namedPlaces.filter(({ path }) => !existsSync(path));
  return missing.map(({ key, path }) => `${key} in the configuration names ${path}, which does not exist`);
}

/** Returns the settings that are paths, each with its key and the object that contains it. */
function configuredPaths(file: ConfigFile) {
  return PATH_KEYS.flatMap((key) => {
    const [name = '', ...sections] = key.split('.').toReversed();
    const section = sections.reduceRight<unknown>((value, part) => (isJsonObject(value) ? value[part] : undefined), file);
    const path = isJsonObject(section) ? section[name] : undefined;
    return typeof path === 'string' ? [{ key, name, path, section: section as Record<string, unknown> }] : [];
  });
}

/** The settings in force, and the file that they come from. */
interface EffectiveConfig {
  readonly file: ConfigFile;
  readonly config: HubConfig;
  /** Why the current file cannot be used. If this is set, the settings come from the file's last valid text. */
  readonly fault?: unknown;
  /** Stores the file's text as valid. The stored text is used if the file is later missing or has mistakes. */
  keep(): void;
}

/**
 * Returns the settings in the file. If the file is missing, empty or has mistakes, returns the settings of its last valid text. If no valid
 * text is stored, behaves like `loadConfig`, which may throw CONFIG_INVALID.
 */
export function effectiveConfig(env: Environment, stateDir: string): EffectiveConfig {
  const ownerFile = new OwnerFile({
    paths: env.ATMO_CONFIG ? [env.ATMO_CONFIG] : defaultFiles(stateDir),
    read: (path) => (existsSync(path) ? readConfigText(path) : undefined),
    parse: (text, path) => {
      const file = parsedFile(text, path);
      return { file, config: loadConfig(env, stateDir, file) };
    },
    takenOf: (path) => acceptedTextInCopy(stateDir, path),
    nothing: { purpose: 'to have the defaults', text: '{}' },
  });
  const found = ownerFile.load();
  if (!found) {
    const file = ownerFile.wasAccepted() ? parsedFile('{}', ownerFile.path) : readConfigFile(env, stateDir);
    return { file, config: loadConfig(env, stateDir, file), keep: () => {} };
  }
  const { content, text, path, ...fault } = found;
  return { ...content, ...fault, keep: () => ownerFile.accept({ text, path }) };
}

function readConfigText(found: string): string {
  try {
    return readFileSync(found, 'utf8');
  } catch (cause) {
    throw new AtmoError(
      'CONFIG_INVALID',
      `${found} cannot be read (${systemCode(cause)}); it has to be a file that this user may read`,
      {},
      { cause },
    );
  }
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

function memoryNameOf(text: string | undefined): MemoryProfileName | undefined {
  if (text === undefined || text === '') return undefined;
  const name = MEMORY_PROFILES.find((known) => known === text);
  if (name) return name;
  throw new AtmoError('CONFIG_INVALID', `ATMO_MEMORY is ${JSON.stringify(text)}; it must be one of ${MEMORY_PROFILES.join(', ')}`);
}

/**
 * Returns the absolute paths of the configuration file and of all files that it names. Omits files in the state directory and files that do
 * not exist. If the configuration has mistakes, returns only its own path. By default, `config` is read from the file.
 */
export function filesOutsideState(env: Environment, stateDir: string, config = readableConfig(env, stateDir)): readonly string[] {
  const own = configFileOf(env, stateDir);
  const paths = [...(own === undefined ? [] : [own]), ...(config ? namedFiles(config) : [])].map((path) => resolve(path));
  return [...new Set(paths)].filter((path) => !path.startsWith(`${resolve(stateDir)}/`)).flatMap(filesAt);
}

function namedFiles({ tools, mesh, http, matter, connectors, rulesFile, profilesDir }: HubConfig): readonly string[] {
  const files = [tools.manifestFile, ...tools.bootstrapFiles, rulesFile, profilesDir, matter.clusterModelsDir];
  const { files: own, acme } = http.tls;
  const secrets = [mesh.preSharedKeyFile, own?.certificateFile, own?.keyFile, acme?.caFile];
  return [...files, ...secrets, ...filesIn(connectors)].filter((path) => path !== undefined);
}

/** Returns the paths of certificates (`ca_file`) and secrets (`file:/path`) in the settings of connectors, at any depth. */
function filesIn(setting: unknown, key = ''): readonly string[] {
  if (typeof setting === 'string') {
    if (setting.startsWith('file:/')) return [setting.slice('file:'.length)];
    return key.endsWith('File') ? [setting] : [];
  }
  if (typeof setting !== 'object' || setting === null) return [];
  return Object.entries(setting).flatMap(([name, value]) => filesIn(value, name));
}

function readableConfig(env: Environment, stateDir: string): HubConfig | undefined {
  try {
    return loadConfig(env, stateDir);
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'CONFIG_INVALID') return undefined;
    throw error;
  }
}

function filesAt(path: string): readonly string[] {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat?.isFile()) return [path];
  return stat?.isDirectory() ? readdirSync(path).flatMap((name) => filesAt(join(path, name))) : [];
}
