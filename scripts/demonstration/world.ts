/**
 * The demo's world, inside scripts/in-netns: the virtual home with its control socket and a hub whose API comes out at a
 * unix socket. Arguments: DIR PORT. Prints one line of JSON with the devices and their codes; ends with SIGTERM.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { inventory, serveControl } from '../../test/home/home-control.ts';
import { standardHome } from '../../test/home/home-spec.ts';
import { VirtualHome } from '../../test/home/virtual-home.ts';
import { ROOT } from '../bundle.ts';
import { forward } from '../forward.ts';

const [dir = '', port = ''] = process.argv.slice(2);
const stopped = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
const hub = spawn(join(ROOT, 'scripts/atmo'), ['serve'], {
  stdio: ['ignore', 'ignore', 'inherit'],
  env: { ...process.env, ATMO_STATE_DIR: join(dir, 'hub'), ATMO_HTTP_PORT: port, ATMO_MATTER_INTERFACE: 'eth0', ATMO_LOG: 'warn' },
});
const hubEnded = once(hub, 'exit');
await forward(`unix:${join(dir, 'api.sock')}`, `tcp:${port}`);
const home = await VirtualHome.start({ spec: standardHome(), dir: join(dir, 'home') });
await serveControl(home, join(dir, 'home.sock'));
console.log(JSON.stringify({ devices: inventory(home) }));

await Promise.race([stopped, hubEnded]);
hub.kill('SIGTERM');
await hubEnded;
await home[Symbol.asyncDispose]();
process.exit();
