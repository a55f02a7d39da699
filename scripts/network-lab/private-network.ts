import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { ROOT } from '../bundle.ts';
import { SWITCH } from './lab-host.ts';

/** Returns whether this process runs in a private network of scripts/in-netns, which alone has this file. */
export function isInPrivateNetwork(): boolean {
  return existsSync(`/run/netns/${SWITCH}`);
}

/** Runs this program with its arguments once more, in a private network. Returns its exit status, 77 where no such network is possible. */
export function againInPrivateNetwork(): number {
  const again = [`${ROOT}scripts/in-netns`, '--', process.execPath, ...process.argv.slice(1)];
  return spawnSync('bash', again, { stdio: 'inherit' }).status ?? 1;
}
