import { lstatSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { AtmoError } from '../core/errors.ts';
import { configFileOf, type Environment, type HubConfig, loadConfig } from './config.ts';

/**
 * The configuration file and the files that it names, as far as they are there and lie outside of the state directory: absolute
 * paths. Of a configuration that is wrong only the file itself. `config` is what the file says where it is not given.
 */
export function outsideFiles(env: Environment, stateDir: string, config = readableConfig(env, stateDir)): readonly string[] {
  const own = configFileOf(env, stateDir);
  const paths = [...(own === undefined ? [] : [own]), ...(config ? namedFiles(config) : [])].map((path) => resolve(path));
  return [...new Set(paths)].filter((path) => !path.startsWith(`${resolve(stateDir)}/`)).flatMap(filesAt);
}

function namedFiles({ tools, mesh, http, matter, connectors, rulesFile, profilesDir }: HubConfig): readonly string[] {
  const files = [tools.manifestFile, ...tools.bootstrapFiles, rulesFile, profilesDir, matter.clusterModelsDir];
  const secrets = [mesh.preSharedKeyFile, http.tls.files?.certificateFile, http.tls.files?.keyFile];
  return [...files, ...secrets, ...filesIn(connectors)].filter((path) => path !== undefined);
}

/** Certificates (`ca_file`) and secrets (`file:/path`) that settings of connectors name, at any depth. */
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
