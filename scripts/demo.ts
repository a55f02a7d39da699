/** The demo. `--check` ends everything afterwards; exit 0 only if each step was verified against the device's own state. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { AtmoError } from '../src/core/errors.ts';
import { ROOT } from './bundle.ts';
import type { BoxedDevice, DemoWorld } from './demonstration/demo-world.ts';
import { HomeOverSocket } from './demonstration/home-over-socket.ts';
import { HubOverHttp } from './demonstration/hub-over-http.ts';
import { OwnerTerminal } from './demonstration/owner-terminal.ts';
import { STEPS } from './demonstration/steps.ts';
import { forward } from './forward.ts';

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
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
  await exited;
  clearTimeout(timer);
}

/** The first line that the world prints: every device with its codes. */
async function devicesOf(world: ChildProcess): Promise<readonly BoxedDevice[]> {
  const lines = createInterface({ input: world.stdout ?? process.stdin });
  for await (const line of lines) return JSON.parse(line).devices;
  throw new AtmoError('INTERNAL_ERROR', 'The private network ended before the home was there; its reason stands above');
}

async function runSteps(world: Omit<DemoWorld, 'say'>): Promise<boolean> {
  for (const [index, { title, run }] of STEPS.entries()) {
    console.log(`\n${index + 1}. ${title}`);
    try {
      await run({ ...world, say: (line) => console.log(`   ${line}`) });
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
  ./scripts/atmo call living_room_lamp_set_brightness brightness=70
  ./scripts/atmo token mint --agent helper --allow device:control:@area/living-room
  ./scripts/atmo audit tail`);
  await Promise.race(['SIGINT', 'SIGTERM'].map((signal) => once(process, signal)));
}

/** Whether the demo ends after its steps; anything but `--check` is explained. */
function endsAfterwards(argv: readonly string[]): boolean {
  if (argv.every((arg) => arg === '--check')) return argv.length > 0;
  const isHelp = argv.includes('--help') || argv.includes('-h');
  console.error('usage: ./scripts/demo [--check]     --check ends after verifying every step, instead of staying until Ctrl-C');
  process.exit(isHelp ? 0 : 2);
}

const isCheck = endsAfterwards(process.argv.slice(2));
const dir = mkdtempSync(join(tmpdir(), 'atmo-demo-'));
const port = await freePort();
const stateDir = join(dir, 'hub');
const hub = new HubOverHttp(`http://127.0.0.1:${port}`, () => readFileSync(join(stateDir, 'owner.token'), 'utf8').trim());
console.log('Starting the virtual home and a hub in a private network …');
const world = spawn(
  join(ROOT, 'scripts/in-netns'),
  ['--', process.execPath, join(ROOT, 'scripts/demonstration/world.ts'), dir, String(port)],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
const door = await forward(`tcp:${port}`, `unix:${join(dir, 'api.sock')}`);
try {
  const devices = await devicesOf(world);
  const ended = once(world, 'exit').then(() => Promise.reject(new AtmoError('INTERNAL_ERROR', 'The hub ended; its reason stands above')));
  await Promise.race([hub.untilReady(), ended]);
  ended.catch(() => undefined);
  const terminal = new OwnerTerminal(hub.url, stateDir);
  const isVerified = await runSteps({ devices, hub, home: new HomeOverSocket(join(dir, 'home.sock')), terminal });
  process.exitCode = isVerified ? 0 : 1;
  if (isVerified && !isCheck) await untilInterrupted(hub.url, stateDir);
} catch (error) {
  console.error(`demo: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
} finally {
  await end(world);
  door.close();
  rmSync(dir, { recursive: true, force: true });
}
process.exit();
