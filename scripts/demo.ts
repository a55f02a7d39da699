/** The demo. `--check` ends everything afterwards; exit 0 only if each step was verified against the device's own state. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from './bundle.ts';
import { HomeControl } from './demonstration/home-control.ts';
import { HubOverHttp } from './demonstration/hub-over-http.ts';
import { STEPS } from './demonstration/steps.ts';

const DEFAULT_PORT = 8081;

/** The default port, or another when a hub runs here already. */
async function freePort(): Promise<number> {
  for (const wanted of [DEFAULT_PORT, 0]) {
    const server = createServer().listen(wanted, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    const address = server.address();
    server.close();
    await once(server, 'close');
    if (typeof address === 'object' && address) return address.port;
  }
  return DEFAULT_PORT;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.stdin?.end();
  const timer = setTimeout(() => child.kill('SIGTERM'), 10_000);
  await once(child, 'exit');
  clearTimeout(timer);
}

async function runSteps(hub: HubOverHttp, home: HomeControl): Promise<boolean> {
  for (const [index, { title, run }] of STEPS.entries()) {
    console.log(`\n${index + 1}. ${title}`);
    try {
      await run({ hub, home, say: (line) => console.log(`   ${line}`) });
    } catch (error) {
      console.error(`   ✗ ${error instanceof Error ? error.message : error}`);
      return false;
    }
  }
  console.log(`\nAll ${STEPS.length} steps were verified.`);
  return true;
}

async function untilInterrupted(url: string, stateDir: string): Promise<void> {
  console.log(`\nThe home and the hub stay until you press Ctrl-C. In another terminal:
  export ATMO_URL=${url} ATMO_STATE_DIR=${stateDir}
  ./scripts/atmo devices
  ./scripts/atmo tools
  ./scripts/atmo call living_room_lamp_set_brightness brightness=70`);
  await Promise.race(['SIGINT', 'SIGTERM'].map((signal) => once(process, signal)));
}

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
const dir = mkdtempSync(join(tmpdir(), 'atmo-demo-'));
const port = await freePort();
const hub = new HubOverHttp(`http://127.0.0.1:${port}`, join(dir, 'hub/owner.token'));
console.log('Starting the virtual home and a hub in a private network …');
const world = spawn(
  join(ROOT, 'scripts/in-netns'),
  ['--', process.execPath, join(ROOT, 'scripts/demonstration/world.ts'), dir, String(port)],
  {
    stdio: ['pipe', 'pipe', 'inherit'],
  },
);
const forward = spawn(process.execPath, [join(ROOT, 'scripts/forward.ts'), `127.0.0.1:${port}`, join(dir, 'api.sock')], {
  stdio: ['ignore', 'ignore', 'inherit'],
});
try {
  const ended = once(world, 'exit').then(([status]) => Promise.reject(new Error(`The private network ended with status ${status}`)));
  await Promise.race([hub.untilReady(), ended]);
  ended.catch(() => undefined);
  const isVerified = await runSteps(hub, new HomeControl(world.stdin, world.stdout));
  process.exitCode = isVerified ? 0 : 1;
  if (isVerified && !values.check) await untilInterrupted(hub.url, join(dir, 'hub'));
} finally {
  forward.kill();
  await end(world);
  rmSync(dir, { recursive: true, force: true });
}
