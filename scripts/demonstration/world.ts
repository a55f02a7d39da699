/**
 * The demo's world, inside scripts/in-netns: the virtual home and a hub, whose API comes out at the unix socket
 * `DIR/api.sock`. Arguments: DIR PORT. Answers HomeRequest lines on standard input; ends with it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { standardHome } from '../../test/home/home-spec.ts';
import { VirtualHome } from '../../test/home/virtual-home.ts';
import { ROOT } from '../bundle.ts';
import type { HomeRequest } from './home-control.ts';

const [dir = '', port = ''] = process.argv.slice(2);

async function answer(home: VirtualHome, request: HomeRequest): Promise<unknown> {
  switch (request.op) {
    case 'devices':
      return home.devices.map(({ spec, pairing }) => ({ name: spec.name, area: spec.area, ...pairing }));
    case 'get':
      return home.device(request.device).get(request.endpoint, request.cluster, request.attribute);
    case 'set':
      return home.device(request.device).set(request.endpoint, request.cluster, request.attribute, request.value);
    case 'powerOff':
      return home.device(request.device).powerOff();
  }
}

await using home = await VirtualHome.start({ spec: standardHome(), dir: join(dir, 'home') });
const hub = spawn(join(ROOT, 'scripts/atmo'), ['serve'], {
  stdio: ['ignore', 'ignore', 'inherit'],
  env: { ...process.env, ATMO_STATE_DIR: join(dir, 'hub'), ATMO_HTTP_PORT: port, ATMO_MATTER_INTERFACE: 'eth0', ATMO_LOG: 'warn' },
});
const forward = spawn(process.execPath, [join(ROOT, 'scripts/forward.ts'), join(dir, 'api.sock'), `127.0.0.1:${port}`], {
  stdio: ['ignore', 'ignore', 'inherit'],
});

for await (const line of createInterface({ input: process.stdin })) {
  const reply = await answer(home, JSON.parse(line)).then(
    (value) => ({ value: value ?? null }),
    (error: unknown) => ({ error: String(error) }),
  );
  console.log(JSON.stringify(reply));
}
forward.kill();
hub.kill('SIGTERM');
await once(hub, 'exit');
