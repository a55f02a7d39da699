import { AtmoError } from '../core/errors.ts';
import { defaultStateDirectory } from '../journal/state-directory.ts';
import { configFileOf, type Environment, loadConfig } from './config.ts';

/** What a start would say of a configuration file, or of the one that it would read. */
export async function checkConfigFile(env: Environment, given?: string): Promise<{ readonly file: string; readonly problem?: string }> {
  const stateDir = defaultStateDirectory(env);
  const wanted = given === undefined ? env : { ...env, ATMO_CONFIG: given };
  let file = given ?? 'built-in defaults';
  try {
    file = configFileOf(wanted, stateDir) ?? file;
    loadConfig(wanted, stateDir);
    return { file };
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'CONFIG_INVALID') return { file, problem: error.message };
    throw error;
  }
}
