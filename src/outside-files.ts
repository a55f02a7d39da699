import { lstatSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { configFileOf, type HubConfig, loadConfig } from './config.ts';
import { AtmoError } from './core/errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The configuration file and the files that it names, as far as they are there and lie outside of the state directory: absolute
 * paths. Of a configuration that is wrong only the file itself.
 */
export function outsideFiles(env: Environment, stateDir: string): readonly string[] {
  const own = configFileOf(env, stateDir);
  const paths = [...(own === undefined ? [] : [own]), ...namedFiles(env, stateDir)].map((path) => resolve(path));
  return [...new Set(paths)].filter((path) => !path.startsWith(`${resolve(stateDir)}/`)).flatMap(filesAt);
}

function namedFiles(env: Environment, stateDir: string): readonly string[] {
  const config = readableConfig(env, stateDir);
  if (!config) return [];
  const { tools, mesh, http, matter, rulesFile, profilesDir } = config;
  const files = [tools.manifestFile, ...tools.bootstrapFiles, rulesFile, profilesDir, matter.clusterModelsDir];
  const secrets = [mesh.preSharedKeyFile, http.tls.files?.certificateFile, http.tls.files?.keyFile];
  return [...files, ...secrets].filter((path) => path !== undefined);
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
