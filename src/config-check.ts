import { configFileOf, loadConfig } from './config.ts';
import { AtmoError } from './core/errors.ts';
import { defaultStateDirectory } from './journal/state-directory.ts';
import { checkRoles } from './tools/builtin/token-role.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What a start would say of a configuration file, or of the one that it would read. */
export async function checkConfigFile(env: Environment, given?: string): Promise<{ readonly file: string; readonly problem?: string }> {
  const stateDir = defaultStateDirectory(env);
  const wanted = given === undefined ? env : { ...env, ATMO_CONFIG: given };
  let file = given ?? 'built-in defaults';
  try {
    file = configFileOf(wanted, stateDir) ?? file;
    checkRoles(loadConfig(wanted, stateDir).roles);
    return { file };
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'CONFIG_INVALID') return { file, problem: error.message };
    throw error;
  }
}
