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
import type { BoxedDevice, DemoHome, DemoWorld } from './demonstration/demo-world.ts';
import { HomeOverSocket } from './demonstration/home-over-socket.ts';
import { HubOverHttp } from './demonstration/hub-over-http.ts';
import { OwnerTerminal } from './demonstration/owner-terminal.ts';
import { STEPS } from './demonstration/steps.ts';
import { passDays } from './demonstration/weather.ts';
import { forward } from './forward.ts';

const DEFAULT_PORT = 8081;

/** The first port of those wanted that is free; 0 stands for any. */
async function freePort(...wishes: readonly number[]): Promise<number> {
  for (const wanted of wishes) {
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

/** One of the two hubs, at the door that comes out of the private network. */
interface Door {
  readonly url: string;
  readonly port: number;
  readonly stateDir: string;
}

function doorAt(port: number, stateDir: string): Door {
  return { url: `http://127.0.0.1:${port}`, port, stateDir };
}

function hubAt({ url, stateDir }: Door): HubOverHttp {
  return new HubOverHttp(url, () => readFileSync(join(stateDir, 'owner.token'), 'utf8').trim());
}

function terminalAt({ url, stateDir }: Door): OwnerTerminal {
  return new OwnerTerminal(url, stateDir);
}

async function untilInterrupted(first: Door, second: Door, home: DemoHome): Promise<void> {
  const atmo = join(ROOT, 'scripts/atmo');
  console.log(`
The home and the hubs stay until you press Ctrl-C; a day of the garden takes four minutes. Open this link in a browser of this
machine. It signs you in as the owner, and what an agent may not do alone waits for you there:

  ${await terminalAt(first).atmo('monitor')}

Connect an agent that speaks MCP, such as Claude Code; the page has this for others too:

  claude mcp add home -e ATMO_URL=${first.url} -e ATMO_STATE_DIR=${first.stateDir} -- ${atmo} mcp --agent claude

Ask it to switch on the light in the living room, how warm the garden was today, and to unlock the front door (PIN 1234).

In another terminal:
  export ATMO_URL=${first.url} ATMO_STATE_DIR=${first.stateDir}
  ./scripts/atmo devices
  ./scripts/atmo tools --search 'make the living room bright'
  ./scripts/atmo call living_room_lamp_set_brightness brightness=70
  ./scripts/atmo approvals
  ./scripts/atmo audit tail
The hub without devices, which uses those of the first:
  export ATMO_URL=${second.url} ATMO_STATE_DIR=${second.stateDir}
  ./scripts/atmo mesh peers
  ./scripts/atmo tools --search 'make the living room bright'`);
  const over = new AbortController();
  const weather = passDays(home, over.signal);
  await interrupted;
  over.abort();
  await weather;
}

/** Commissions and calls, step by step; false when the devices say otherwise. */
async function demonstrate(home: DemoHome): Promise<boolean> {
  const devices = await devicesOf(world);
  const ended = once(world, 'exit').then(() => Promise.reject(new AtmoError('INTERNAL_ERROR', 'A hub ended; its reason stands above')));
  const hubs = [hubAt(first), hubAt(second)] as const;
  await Promise.race([Promise.all(hubs.map((hub) => hub.untilReady())), ended]);
  ended.catch(() => undefined);
  const terminal = terminalAt(first);
  return runSteps({ devices, hub: hubs[0], home, terminal, second: { hub: hubs[1], terminal: terminalAt(second) } });
}

// `scripts/demo` lets nothing else through.
const isCheck = process.argv.includes('--check');
const EXIT_INTERRUPTED = 130;
const interrupted = Promise.race(['SIGINT', 'SIGTERM'].map((signal) => once(process, signal))).then(() => 'interrupted' as const);
const dir = mkdtempSync(join(tmpdir(), 'atmo-demo-'));
const first = doorAt(await freePort(DEFAULT_PORT, 0), join(dir, 'hub'));
const second = doorAt(await freePort(0), join(dir, 'second'));
console.log('Starting the virtual home and two hubs in a private network …');
const world = spawn(
  join(ROOT, 'scripts/in-netns'),
  ['--', process.execPath, join(ROOT, 'scripts/demonstration/world.ts'), dir, String(first.port), String(second.port)],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
const doors = [
  await forward(`tcp:${first.port}`, `unix:${join(dir, 'api.sock')}`),
  await forward(`tcp:${second.port}`, `unix:${join(dir, 'second.sock')}`),
];
let exitCode = 1;
try {
  const home = new HomeOverSocket(join(dir, 'home.sock'));
  const outcome = await Promise.race([demonstrate(home), interrupted]);
  if (outcome === 'interrupted') exitCode = EXIT_INTERRUPTED;
  else if (outcome) {
    exitCode = 0;
    if (!isCheck) await untilInterrupted(first, second, home);
  }
} catch (error) {
  console.error(`demo: ${error instanceof Error ? error.message : error}`);
} finally {
  await end(world);
  for (const door of doors) door.close();
  rmSync(dir, { recursive: true, force: true });
}
process.exit(exitCode);
