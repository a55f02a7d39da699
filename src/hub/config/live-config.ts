import { isDeepStrictEqual } from 'node:util';
import type { ConfigReload } from '../../core/config/config-section.ts';
import { toAtmoError } from '../../core/errors.ts';
import { isJsonObject } from '../../core/json.ts';
import type { LogLevel, LogThreshold } from '../../core/logger.ts';
import { type Environment, effectiveConfig, type HubConfig } from './config.ts';
import type { ConfigFile } from './config-file.ts';

/** Keys that take effect without a restart. Rules and certificates are not listed, since other parts watch their files. */
const LIVE_KEYS = ['log', 'tools.disabled', 'tools.fail_over', 'tools.features', 'roles'] as const;

/** A configuration whose file can be read again while the hub runs. */
export interface LiveConfig extends HubConfig {
  /** The current log level, whereas `logLevel` is the level at the start. */
  readonly log: LogThreshold;
  /** Reads the file again. If none of the changes needs a restart, stores the file's text as valid. */
  reload(): ConfigReload;
  problem(): string | undefined;
  /** Stores the settings as valid. Called after a hub has started with them. */
  keep(): void;
}

/** Returns a hub's configuration, which `reload` can read again. Throws CONFIG_INVALID like `effectiveConfig`. */
export function liveConfig(env: Environment, stateDir: string): LiveConfig {
  let current = effectiveConfig(env, stateDir);
  const { config } = current;
  let { file } = current;
  let fault = current.fault;
  // `reload` changes these arrays and objects in place, because other parts of the hub refer to them.
  const [disabled, failOver] = [[...config.tools.disabled], [...config.tools.failOver]];
  const [features, roles] = [{ ...config.tools.features }, { ...config.roles }];
  const log: { level: LogLevel } = { level: config.logLevel };
  let hasStarted = false;
  const keep = () => {
    if (hasStarted && current.fault === undefined) current.keep();
  };
  const reload = (): ConfigReload => {
    const next = effectiveConfig(env, stateDir);
    fault = next.fault;
    if (fault !== undefined) throw fault;
    const changed = changedKeys(file, next.file);
    disabled.splice(0, disabled.length, ...next.config.tools.disabled);
    failOver.splice(0, failOver.length, ...next.config.tools.failOver);
    replaceMembers(features, next.config.tools.features);
    replaceMembers(roles, next.config.roles);
    log.level = next.config.logLevel;
    file = withLiveKeys(file, next.file);
    const needsRestart = changed.filter((key) => !isLive(key));
    // Settings that need a restart are not stored as valid, because no hub has started with them yet.
    if (needsRestart.length === 0) {
      current = next;
      keep();
    }
    return { applied: changed.filter(isLive), needsRestart };
  };
  return {
    ...config,
    tools: { ...config.tools, disabled, failOver, features },
    roles,
    log,
    reload,
    problem: () => (fault === undefined ? undefined : `${toAtmoError(fault).message} (the settings that were taken last hold)`),
    keep: () => {
      hasStarted = true;
      keep();
    },
  };
}

/** Returns the running settings, with the keys from `next` that take effect at once. Other changed keys still need a restart. */
function withLiveKeys(running: ConfigFile, next: ConfigFile): ConfigFile {
  const { disabled, fail_over, features } = next.tools;
  return { ...running, log: next.log, roles: next.roles, tools: { ...running.tools, disabled, fail_over, features } };
}

const isLive = (key: string): boolean => LIVE_KEYS.some((live) => key === live || key.startsWith(`${live}.`));

/** Returns the dotted keys of all values that differ. If two objects differ, returns the keys of their differing members instead. */
function changedKeys(before: unknown, after: unknown, path = ''): readonly string[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isJsonObject(before) || !isJsonObject(after)) return [path];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key) => changedKeys(before[key], after[key], path === '' ? key : `${path}.${key}`));
}

function replaceMembers<Value>(target: Record<string, Value>, source: Readonly<Record<string, Value>>): void {
  for (const key of Object.keys(target)) if (!Object.hasOwn(source, key)) delete target[key];
  Object.assign(target, source);
}
