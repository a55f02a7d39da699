import { existsSync, readFileSync } from 'node:fs';
import { AtmoError } from '../core/errors.ts';
import { defaultStateDirectory } from '../journal/state-directory.ts';
import { recordsOf } from '../tools/manifest/record-file.ts';
import { manifestEntries } from '../tools/manifest/tool-manifest.ts';
import { configFileOf, type Environment, loadConfig, missingPlaces } from './config.ts';
import { requireOwnFilesApart } from './own-files-apart.ts';

/**
 * What a start would say of a configuration file, or of the one that it would read, and of the manifest of tools that it names. Code
 * that the manifest names is not loaded.
 */
export async function checkConfigFile(env: Environment, given?: string): Promise<{ readonly file: string; readonly problem?: string }> {
  const stateDir = defaultStateDirectory(env);
  if (given !== undefined && !existsSync(given)) return { file: given, problem: `${given} does not exist` };
  const wanted = given === undefined ? env : { ...env, ATMO_CONFIG: given };
  let file = given ?? 'built-in defaults';
  try {
    file = configFileOf(wanted, stateDir) ?? file;
    const config = loadConfig(wanted, stateDir);
    requireOwnFilesApart(config, wanted);
    const [missing] = missingPlaces(config);
    if (missing !== undefined) return { file, problem: missing };
    const { manifestFile } = config.tools;
    if (!existsSync(manifestFile)) return { file };
    const [mistake] = manifestEntries(recordsOf(readFileSync(manifestFile, 'utf8'), manifestFile)).leftOut;
    return { file, ...(mistake && { problem: `${mistake.place}: ${mistake.problem}` }) };
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'CONFIG_INVALID') return { file, problem: error.message };
    throw error;
  }
}
