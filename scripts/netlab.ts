/** The lab of hosts for people: `scripts/netlab` (docs/netlab.md). Tests use scripts/network-lab directly. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AtmoError } from '../src/core/errors.ts';
import { ROOT } from './bundle.ts';
import { fetchDebianTools } from './network-lab/debian-tool.ts';
import type { LabHost } from './network-lab/lab-host.ts';
import { labHost, NetworkLab } from './network-lab/network-lab.ts';

const USAGE = `usage: scripts/netlab N -- COMMAND…      N hosts n1 … nN for one command, which runs on host hub beside them
       scripts/netlab up N               the same, until \`down\`
       scripts/netlab run HOST -- COMMAND…
       scripts/netlab set HOST unplug | plug | link-down | link-up | loss PERCENT | delay MILLISECONDS
       scripts/netlab down
       scripts/netlab tools              downloads the programs of Debian that some tests need, without installing them
       scripts/netlab suite [NAME…]      the long tests of the mesh, with their figures`;
const IN_NETNS = join(ROOT, 'scripts/in-netns');
const STATE = process.env.NETLAB_DIR ?? join(ROOT, '.run/netlab');
const PID_FILE = join(STATE, 'pid');
/** Name and addresses of each host, written once all are there. */
const READY_FILE = join(STATE, 'ready');
const START_LIMIT_MS = 60_000;

/** What can be done to a host while everything runs. */
const CHANGES: Readonly<Record<string, (host: LabHost, value: number) => Promise<void>>> = {
  unplug: (host) => host.unplug(),
  plug: (host) => host.plug(),
  'link-down': (host) => host.linkDown(),
  'link-up': (host) => host.linkUp(),
  loss: (host, percent) => host.loseIncoming(percent),
  delay: (host, delayMs) => host.delayOutgoing(delayMs),
};

const COMMANDS: Readonly<Record<string, (args: readonly string[]) => number | Promise<number>>> = {
  up: ([count = '']) => up(hostCount(count)),
  down,
  run: ([host = '', ...rest]) => runOn(host, afterDashes(rest)),
  set: (args) => inside([process.execPath, import.meta.filename, 'change', ...args]),
  tools,
  suite,
  // Those below run inside the private network, started by those above.
  hold,
  change: ([host = '', change = '', value = '0']) => changeHost(host, change, Number(value)),
  with: ([count = '', ...command]) => withHosts(hostCount(count), command),
};

function usage(): never {
  console.error(USAGE);
  process.exit(2);
}

function help(): number {
  console.log(USAGE);
  return 0;
}

function hostCount(text: string): number {
  const count = Number(text);
  return Number.isInteger(count) && count >= 1 && count <= 200 ? count : usage();
}

function afterDashes(args: readonly string[]): readonly string[] {
  return args[0] === '--' && args.length > 1 ? args.slice(1) : usage();
}

/** One command in a lab of its own; answers its status. */
function oneShot(count: string, command: readonly string[]): number {
  const again = [process.execPath, import.meta.filename, 'with', String(hostCount(count)), ...command];
  return statusOf(IN_NETNS, ['--', ...again]);
}

async function withHosts(count: number, [program = '', ...args]: readonly string[]): Promise<number> {
  await using lab = new NetworkLab();
  await lab.start();
  await lab.addHosts(count);
  const child = spawn(program, args, { stdio: 'inherit' });
  const [status] = (await once(child, 'exit')) as [number | null];
  return status ?? 1;
}

async function up(count: number): Promise<number> {
  if (worldPid() !== undefined) throw new AtmoError('CONFLICT', 'A lab is up already; scripts/netlab down ends it');
  mkdirSync(STATE, { recursive: true });
  const log = openSync(join(STATE, 'log'), 'w');
  rmSync(READY_FILE, { force: true });
  const world = spawn(IN_NETNS, ['--', process.execPath, import.meta.filename, 'hold', String(count), READY_FILE], {
    detached: true,
    stdio: ['ignore', log, log],
  });
  writeFileSync(PID_FILE, String(world.pid));
  const limitMs = performance.now() + START_LIMIT_MS;
  while (!isThere(READY_FILE)) {
    if (world.exitCode !== null || performance.now() > limitMs) {
      throw new AtmoError('INTERNAL_ERROR', `The lab did not start: ${readFileSync(join(STATE, 'log'), 'utf8').trim()}`);
    }
    await sleep(50);
  }
  console.log(readFileSync(READY_FILE, 'utf8').trim());
  world.unref();
  return 0;
}

/** Keeps the hosts until it is told to end. */
async function hold([count = '', readyFile = '']: readonly string[]): Promise<number> {
  const ended = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  await using lab = new NetworkLab();
  await lab.start();
  const hosts = await lab.addHosts(hostCount(count));
  writeFileSync(readyFile, hosts.map((host) => `${host.name} ${host.address()} ${host.address6()}`).join('\n'));
  // A listener for a signal does not keep a process alive.
  const alive = setInterval(() => undefined, 60_000);
  await ended;
  clearInterval(alive);
  return 0;
}

function down(): number {
  const pid = worldPid();
  if (pid !== undefined) process.kill(pid, 'SIGTERM');
  rmSync(PID_FILE, { force: true });
  return 0;
}

/** Runs a command on a host of `up`, in the caller's own directory: entering a mount namespace leads to its root. */
function runOn(host: string, command: readonly string[]): number {
  requireWorld();
  const hosts = ['hub', ...upHosts()];
  if (!hosts.includes(host)) throw new AtmoError('NOT_FOUND', `There is no host ${host}; those that are up: ${hosts.join(', ')}`);
  return inside(['env', `--chdir=${process.cwd()}`, 'nsenter', `--net=/run/netns/${host}`, '--', ...command]);
}

function upHosts(): readonly string[] {
  const lines = readFileSync(READY_FILE, 'utf8').trim().split('\n');
  return lines.map((line) => line.split(' ')[0] ?? '');
}

/** Runs a command in the world of `up`, whose first process is the child of the one that is known. */
function inside(command: readonly string[]): number {
  const pid = requireWorld();
  const [first = ''] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
  const user = process.getuid?.() === 0 ? [] : ['--user', '--preserve-credentials'];
  return statusOf('nsenter', [`--target=${first}`, '--mount', '--pid', ...user, '--', ...command]);
}

async function changeHost(name: string, change: string, value: number): Promise<number> {
  const apply = CHANGES[change];
  const number = Number(/^n(\d+)$/.exec(name)?.[1]);
  if (!apply || !Number.isInteger(number) || !Number.isFinite(value)) return usage();
  await apply(labHost(name, number), value);
  return 0;
}

async function tools(): Promise<number> {
  const failures = await fetchDebianTools();
  for (const [name, reason] of failures) console.error(`netlab: ${name} is not to be had here: ${reason.trim()}`);
  return failures.size === 0 ? 0 : 1;
}

/** The tests that take longer than everybody's checks may; names choose among test/live/mesh*.test.ts. */
async function suite(names: readonly string[]): Promise<number> {
  await tools();
  const files = names.length === 0 ? ['test/live/mesh'] : names.map((name) => `test/live/mesh-${name}`);
  // The names first: that option would take the first of them for its value.
  const vitest = ['vitest', 'run', ...files, '--config', 'test/vitest.config.ts', '--project', 'live', '--disable-console-intercept'];
  process.chdir(ROOT);
  return statusOf(IN_NETNS, ['--', 'env', 'MESH_LONG=1', ...vitest]);
}

function requireWorld(): number {
  const pid = worldPid();
  if (pid === undefined) throw new AtmoError('NOT_FOUND', 'No lab is up; scripts/netlab up N makes one');
  return pid;
}

/** Process of the lab that is up. */
function worldPid(): number | undefined {
  try {
    const pid = Number(readFileSync(PID_FILE, 'utf8'));
    process.kill(pid, 0);
    return pid;
  } catch {
    return undefined;
  }
}

function isThere(path: string): boolean {
  try {
    return readFileSync(path).length > 0;
  } catch {
    return false;
  }
}

function statusOf(program: string, args: readonly string[]): number {
  return spawnSync(program, args, { stdio: 'inherit' }).status ?? 1;
}

async function main([name = '', ...args]: readonly string[]): Promise<number> {
  if (name === '--help' || name === 'help') return help();
  if (/^\d+$/.test(name)) return oneShot(name, afterDashes(args));
  const command = COMMANDS[name];
  return command ? command(args) : usage();
}

try {
  process.exit(await main(process.argv.slice(2)));
} catch (error) {
  console.error(`netlab: ${error instanceof Error ? error.message : error}`);
  process.exit(1);
}
