import { existsSync, statSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { toAtmoError } from '../../core/errors.ts';
import { type CheckResult, type CheckSection, type Finding, failed, named, ok } from '../../doctor/check-result.ts';
import {
  clockCheck,
  databaseChecks,
  directoryChecks,
  memoryBoundCheck,
  memoryProfileCheck,
  nodeCheck,
} from '../../doctor/machine-checks.ts';
import type { CliIo } from '../cli-io.ts';
import { findCredential, ownerTokenFile } from '../identity/credential.ts';
import { stateDirs } from '../identity/user-files.ts';

const NO_LOGIN = 'start a hub (systemctl start atmosphere-edge, or atmo serve), sign in with atmo login, or set ATMO_TOKEN';

/**
 * Returns the checks of a machine on which a hub runs or shall run. `network` are those of its interfaces and ports. `memory` is the configured
 * memory profile, undefined if the configuration cannot be read.
 */
export async function hubMachineChecks(
  env: CliIo['env'],
  network: readonly CheckResult[],
  memory: string | undefined,
): Promise<readonly CheckSection[]> {
  return [
    {
      title: 'Machine',
      checks: [
        named('node', nodeCheck(process.versions.node)),
        named('clock', clockCheck(Date.now())),
        named('bounds of memory', memoryBoundCheck()),
        ...(memory === undefined ? [] : [named('memory profile', memoryProfileCheck(memory, totalmem()))]),
        named('token', tokenCheck(env, NO_LOGIN)),
      ],
    },
    { title: 'Network', checks: network },
    { title: 'State', checks: await stateChecks(env) },
  ];
}

/** Returns the checks of a machine that has the client package alone. `signIn` says how its user signs in. */
export function clientMachineChecks(env: CliIo['env'], signIn: string): readonly CheckSection[] {
  return [
    {
      title: 'Machine',
      checks: [named('node', ok(process.versions.node)), named('clock', clockCheck(Date.now())), named('token', tokenCheck(env, signIn))],
    },
  ];
}

/**
 * Checks that this user has a token for calls. If it is the owner's token, also checks that other users cannot read its file. `advice`
 * says what to do where there is none.
 */
export function tokenCheck(env: CliIo['env'], advice: string): Finding {
  if (env.ATMO_TOKEN) return ok('ATMO_TOKEN');
  try {
    const login = findCredential(env)?.login;
    if (login !== undefined) return ok(`your login in ${login.file}`);
  } catch (error) {
    return failed(toAtmoError(error).message, 'without a token little can be asked');
  }
  const file = ownerTokenFile(env);
  if (file === undefined) {
    const places = stateDirs(env).map((dir) => join(dir, 'owner.token'));
    const here = places.length > 0 ? `, no ${places.join(' and no ')}` : '';
    return failed(`no login${here}`, advice);
  }
  const mode = statSync(file).mode & 0o777;
  if ((mode & 0o077) === 0) return ok(file);
  return failed(`${file} has mode ${mode.toString(8)}`, `others can read it: chmod 600 ${file}`);
}

/** Checks the state directory of this machine's hub with its databases. */
export async function stateChecks(env: CliIo['env']): Promise<readonly CheckResult[]> {
  const dir = stateDirs(env).find((candidate) => existsSync(candidate));
  if (dir !== undefined) return [...directoryChecks(dir), ...(await databaseChecks(dir))];
  const found = `none of ${stateDirs(env).join(', ')}`;
  return [named('state directory', failed(found, 'start a hub (systemctl start atmosphere-edge, or atmo serve), or set ATMO_STATE_DIR'))];
}
