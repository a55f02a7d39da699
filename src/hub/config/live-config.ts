import { isDeepStrictEqual } from 'node:util';
import type { ConfigReload } from '../../core/config/config-section.ts';
import { toAtmoError } from '../../core/errors.ts';
import { isJsonObject } from '../../core/json.ts';
import type { LogLevel, LogThreshold } from '../../core/logger.ts';
import { type Environment, effectiveConfig, type HubConfig } from './config.ts';
import type { ConfigFile } from './config-file.ts';

/** Keys that take effect when the file is read again. Rules and certificates are watched by the parts that use them. */
const LIVE_KEYS = ['log', 'tools.disabled', 'tools.fail_over', 'tools.features', 'roles'] as const;

/** A configuration whose file can be read again while the hub runs. */
export interface LiveConfig extends HubConfig {
  /** The present log level; `logLevel` is that of the start. */
  readonly log: LogThreshold;
  /** Reads the file again. A file of which nothing waits for a restart is stored as valid once a hub has started. */
  reload(): ConfigReload;
  problem(): string | undefined;
  /** Stores the settings as valid, after a hub has started with them. */
  keep(): void;
}

/** Returns the configuration of a hub, which `reload` reads again. Throws CONFIG_INVALID as `configInForce`. */
export function liveConfig(env: Environment, stateDir: string): LiveConfig {
  let current = effectiveConfig(env, stateDir);
  const { config } = current;
  let { file } = current;
  let fault = current.fault;
  // The parts of the hub hold these very objects.
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
    // No hub has started yet with the settings that wait.
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

/** Returns each reload lists the settings that wait for a restart, until it happens. */
function withLiveKeys(running: ConfigFile, next: ConfigFile): ConfigFile {
  const { disabled, fail_over, features } = next.tools;
  return { ...running, log: next.log, roles: next.roles, tools: { ...running.tools, disabled, fail_over, features } };
}

const isLive = (key: string): boolean => LIVE_KEYS.some((live) => key === live || key.startsWith(`${live}.`));

/** Returns the dotted keys of the innermost mappings whose values differ. */
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
