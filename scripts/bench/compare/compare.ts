/** Measures a Matter server of the reader and the hub by turns, on virtual lights of the same kind. Works only inside scripts/in-netns. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { VirtualHome } from '../../../test/home/virtual-home.ts';
import { fleetOf } from '../fleet-spec.ts';
import { HubProgram } from '../hub-program.ts';
import { rssMegabytes, threadsCpuMs } from '../process-figures.ts';
import { median, timed } from '../statistics.ts';
import { Workspace } from '../workspace.ts';
import { MeasuredServer, type ServerOptions } from './measured-server.ts';

/** What is measured, and how often. */
export interface CompareOptions extends ServerOptions {
  /** Path of the bundle of the hub. */
  readonly program: string;
  /** Lights that each of the two gets. One of them is switched. */
  readonly lights: number;
  /** Turns of so many commands back to back. */
  readonly turns: number;
  readonly commandsATurn: number;
  /** Commands of each, two a second. */
  readonly pacedCommands: number;
  /** How long nothing happens before memory is measured. */
  readonly idleMs: number;
  /** Restarts of each. */
  readonly starts: number;
}

/** One figure of the three contenders: the hub, whose command reads the light back; the server; the server with a read after each command. */
export interface ComparedFigure {
  readonly name: string;
  readonly unit: string;
  readonly hub: number;
  /** Undefined where it cannot be measured. */
  readonly server: number | undefined;
  readonly serverWithRead?: number | undefined;
}

const RETRY_MS = 10;
const GIVE_UP_MS = 60_000;
const PACE_MS = 500;
const MEMORY_SAMPLES = 5;
const SAMPLE_EVERY_MS = 1_000;
const FIRST_LIGHT = 'light_1';

type Contender = 'hub' | 'server' | 'serverWithRead';

/** How a contender switches a light, and the process whose processor time counts. */
interface Way {
  readonly contender: Contender;
  readonly pid: number | undefined;
  readonly command: (isOn: boolean) => Promise<unknown>;
}

/** Starts the hub with the state that it has. */
type StartHub = () => Promise<HubProgram>;

/** The figures of one run. */
export async function compare(options: CompareOptions): Promise<readonly ComparedFigure[]> {
  using workspace = new Workspace();
  const { dir } = workspace;
  const spec = fleetOf(Array.from({ length: 2 * options.lights }, () => 'on-off-light'));
  await using home = await VirtualHome.start({ spec, dir: join(dir, 'home') });
  await using server = new MeasuredServer(options, dir);
  await server.start();
  const codes = home.devices.map(({ pairing }) => pairing.manualCode);
  for (const code of codes.slice(options.lights)) await server.commission(code);
  const startHub = () => HubProgram.start(dir, options.program);
  await commissionAtHub(startHub, codes.slice(0, options.lights));
  const starts = options.command === undefined ? [] : await startFigure(options.starts, server, startHub);
  await using hub = await startHub();
  const ways = waysOf(hub, server);
  for (const { command } of ways) await untilDone(() => command(true));
  const figures = await backToBack(ways, options);
  const paced = await atPace(ways, options.pacedCommands);
  return [...figures, ...paced, ...(await memoryFigure(hub, server, options.idleMs)), ...starts];
}

async function commissionAtHub(startHub: StartHub, codes: readonly string[]): Promise<void> {
  await using hub = await startHub();
  for (const [index, code] of codes.entries()) await hub.commission(code, `Light ${index + 1}`);
}

function waysOf(hub: HubProgram, server: MeasuredServer): readonly Way[] {
  const { pid } = server;
  return [
    { contender: 'hub', pid: hub.process.pid, command: (isOn) => hub.call(`${FIRST_LIGHT}_turn_${isOn ? 'on' : 'off'}`, {}) },
    { contender: 'server', pid, command: (isOn) => server.switchLight(isOn) },
    { contender: 'serverWithRead', pid, command: (isOn) => server.switchLight(isOn).then(() => server.readLight()) },
  ];
}

/** From exec until a light has answered a command, by turns. Nothing runs on. */
async function startFigure(count: number, server: MeasuredServer, startHub: StartHub): Promise<readonly ComparedFigure[]> {
  const [hubMs, serverMs]: [number[], number[]] = [[], []];
  for (let start = 0; start < count; start++) {
    {
      await using hub = await startHub();
      await untilDone(() => hub.call(`${FIRST_LIGHT}_turn_on`, {}));
      hubMs.push(performance.now() - hub.process.startedMs);
    }
    await server[Symbol.asyncDispose]();
    await server.start();
    await untilDone(() => server.switchLight(true));
    serverMs.push(performance.now() - server.startedMs);
  }
  return [{ name: 'start to the first command', unit: 'ms', hub: median(hubMs), server: median(serverMs) }];
}

/** Milliseconds and processor time of a command, while each sends the next one when the last was answered. */
async function backToBack(ways: readonly Way[], { turns, commandsATurn }: CompareOptions): Promise<readonly ComparedFigure[]> {
  const [times, cpu] = [perContender(), perContender()];
  for (let turn = 0; turn <= turns; turn++) {
    for (const { contender, pid, command } of ways) {
      const cpuBefore = pid === undefined ? 0 : threadsCpuMs(pid);
      const turnMs: number[] = [];
      for (let count = 0; count < commandsATurn; count++) turnMs.push(await timed(() => command(count % 2 === 1)));
      // The first turn warms up.
      if (turn === 0) continue;
      times[contender].push(...turnMs);
      if (pid !== undefined) cpu[contender].push((threadsCpuMs(pid) - cpuBefore) / commandsATurn);
    }
  }
  return [figureOf('command back to back, p50', times), figureOf('processor for a command', cpu)];
}

/** Two commands a second, the hub and one way of the server in turns between them. */
async function atPace(ways: readonly Way[], count: number): Promise<readonly ComparedFigure[]> {
  const times = perContender();
  for (const other of ['server', 'serverWithRead'] as const) {
    const pair = ways.filter(({ contender }) => contender === 'hub' || contender === other);
    for (let sent = 0; sent < count; sent++) {
      for (const { contender, command } of pair) {
        const ms = await timed(() => command(sent % 2 === 0));
        times[contender].push(ms);
        await sleep(Math.max(0, PACE_MS / pair.length - ms));
      }
    }
  }
  return [figureOf('command, two a second, p50', times)];
}

async function memoryFigure(hub: HubProgram, { pid }: MeasuredServer, idleMs: number): Promise<readonly ComparedFigure[]> {
  await sleep(idleMs);
  const sizes: Record<'hub' | 'server', number[]> = { hub: [], server: [] };
  for (let sample = 0; sample < MEMORY_SAMPLES; sample++) {
    sizes.hub.push(hub.process.rssMegabytes);
    if (pid !== undefined) sizes.server.push(rssMegabytes(pid));
    await sleep(SAMPLE_EVERY_MS);
  }
  return [{ name: 'resident memory, idle', unit: 'MB', hub: median(sizes.hub), server: medianOf(sizes.server) }];
}

function perContender(): Record<Contender, number[]> {
  return { hub: [], server: [], serverWithRead: [] };
}

function figureOf(name: string, { hub, server, serverWithRead }: Record<Contender, readonly number[]>): ComparedFigure {
  return { name, unit: 'ms', hub: median(hub), server: medianOf(server), serverWithRead: medianOf(serverWithRead) };
}

function medianOf(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : median(values);
}

/** Repeats what comes too early. */
async function untilDone(work: () => Promise<unknown>): Promise<void> {
  const endMs = performance.now() + GIVE_UP_MS;
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if (performance.now() > endMs) throw error;
      await sleep(RETRY_MS);
    }
  }
}
