/**
 * The demo's world, inside scripts/in-netns: the virtual home with its control socket, a hub for it, and on a host of its own
 * a second hub without devices. The API of each hub comes out at a unix socket. Arguments: DIR PORT SECOND_PORT. Prints one
 * line of JSON with the devices and their codes; ends with SIGTERM.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../src/core/json.ts';
import { inventory, serveControl } from '../../test/home/home-control.ts';
import { standardHome } from '../../test/home/home-spec.ts';
import { VirtualHome } from '../../test/home/virtual-home.ts';
import { ROOT } from '../bundle.ts';
import { forward } from '../forward.ts';
import { LabHost } from '../network-lab/lab-host.ts';

const [dir = '', port = '', secondPort = ''] = process.argv.slice(2);
const ANNEX_NUMBER = 2;
const stopped = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);

/** Starts a hub; `prefix` is what runs a command on its host. */
function startHub(
  name: string,
  config: JsonObject,
  { httpPort, prefix = [] }: { httpPort: string; prefix?: readonly string[] },
): ChildProcess {
  const stateDir = join(dir, name);
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  writeFileSync(join(stateDir, 'config.yaml'), JSON.stringify(config), { mode: 0o600 });
  const [program = '', ...args] = [...prefix, join(ROOT, 'scripts/atmo'), 'serve'];
  return spawn(program, args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ATMO_STATE_DIR: stateDir, ATMO_HTTP_PORT: httpPort, ATMO_LOG: 'warn' },
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

const hub = startHub('hub', { matter: { interface: 'eth0' }, mesh: { name: 'house' } }, { httpPort: port });
const hubEnded = once(hub, 'exit');
await forward(`unix:${join(dir, 'api.sock')}`, `tcp:${port}`);

const annex = new LabHost('annex', ANNEX_NUMBER);
await annex.start();
const second = startHub(
  'second',
  { matter: { enabled: false }, mesh: { name: 'annex' } },
  { httpPort: secondPort, prefix: annex.command([]) },
);
const secondEnded = once(second, 'exit');
const [program, ...args] = annex.command([
  process.execPath,
  join(ROOT, 'scripts/forward.ts'),
  `unix:${join(dir, 'second.sock')}`,
  `tcp:${secondPort}`,
]);
const secondDoor = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });

const home = await VirtualHome.start({ spec: standardHome(), dir: join(dir, 'home') });
await serveControl(home, join(dir, 'home.sock'));
console.log(JSON.stringify({ devices: inventory(home) }));

await Promise.race([stopped, hubEnded, secondEnded]);
await Promise.all([end(hub), end(second), end(secondDoor)]);
await home[Symbol.asyncDispose]();
process.exit();
