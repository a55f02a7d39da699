import { isDeepStrictEqual } from 'node:util';
import { isJsonObject } from '../core/json.ts';
import type { LogLevel } from '../core/logger.ts';
import type { ConfigReload } from '../core/settings/config-reload.ts';
import { type Environment, type HubConfig, loadConfig, readConfigFile } from './config.ts';
import type { ConfigFile } from './config-file.ts';

/** Keys of the file that hold as soon as it is read again. Rules and certificates are followed by those who use them. */
const LIVE_KEYS = ['log', 'tools.disabled', 'tools.features', 'roles'] as const;

/** A configuration that follows its file as far as that goes while the hub runs. */
export interface LiveConfig extends HubConfig {
  /** As it is now; `logLevel` is that of the start. */
  currentLogLevel(): LogLevel;
  reload(): ConfigReload;
}

/** The configuration of a hub, which `reload` reads again. CONFIG_INVALID as `loadConfig`. */
export function liveConfig(env: Environment, stateDir: string): LiveConfig {
  let file = readConfigFile(env, stateDir);
  const config = loadConfig(env, stateDir, file);
  // These very objects are what the rooms hold on to.
  const [disabled, features, roles] = [[...config.tools.disabled], { ...config.tools.features }, { ...config.roles }];
  let logLevel = config.logLevel;
  const reload = (): ConfigReload => {
    const nextFile = readConfigFile(env, stateDir);
    const next = loadConfig(env, stateDir, nextFile);
    const changed = changedKeys(file, nextFile);
    disabled.splice(0, disabled.length, ...next.tools.disabled);
    replaceMembers(features, next.tools.features);
    replaceMembers(roles, next.roles);
    logLevel = next.logLevel;
    file = withLiveKeys(file, nextFile);
    return { applied: changed.filter(isLive), needsRestart: changed.filter((key) => !isLive(key)) };
  };
  return { ...config, tools: { ...config.tools, disabled, features }, roles, currentLogLevel: () => logLevel, reload };
}

/** What is told as waiting for a restart is told again by each reload until it comes. */
function withLiveKeys(running: ConfigFile, next: ConfigFile): ConfigFile {
  const { disabled, features } = next.tools;
  return { ...running, log: next.log, roles: next.roles, tools: { ...running.tools, disabled, features } };
}

const isLive = (key: string): boolean => LIVE_KEYS.some((live) => key === live || key.startsWith(`${live}.`));

/** Keys, with dots, whose values differ: of the innermost mappings. */
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
