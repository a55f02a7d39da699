/**
 * Runs one benchmark: `npm run bench -- NAME [--json]`, `--list` names them. With --json standard output holds one JSON line
 * per figure. Exit 0 when every figure keeps its bar.
 * `--gate` compares the tree with the commit of gate/base.json instead; `--gate --self N` that commit with itself, N times, and
 * `--record FILE` keeps what was measured.
 */
import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import type { BenchFigure } from './bench/figure.ts';
import { againInPrivateNetwork, isInPrivateNetwork } from './network-lab/private-network.ts';

interface Bench {
  readonly summary: string;
  /** Speaks Matter: runs inside scripts/in-netns. */
  readonly isNetworked: boolean;
  readonly load: () => Promise<{ run(): Promise<BenchFigure[]> }>;
}

const BENCHES: Readonly<Record<string, Bench>> = {
  local: { summary: 'tool call over HTTP / bare invoke and read', isNetworked: true, load: () => import('./bench/local.ts') },
  memory: { summary: 'idle RSS with 11 devices / bare controller', isNetworked: true, load: () => import('./bench/memory.ts') },
  rest: { summary: 'processor time at rest with 11 lights / bare controller', isNetworked: true, load: () => import('./bench/rest.ts') },
  start: { summary: 'exec to first answered call / bare controller', isNetworked: true, load: () => import('./bench/start.ts') },
  fleet: { summary: '50 devices: commission, restart, idle', isNetworked: true, load: () => import('./bench/fleet.ts') },
  registry: { summary: '10,000 tools: lookup, list, validation', isNetworked: false, load: () => import('./bench/registry.ts') },
  access: { summary: 'authorising a token / one bare verification', isNetworked: false, load: () => import('./bench/access.ts') },
  audit: { summary: 'calls per second with the journal / without', isNetworked: false, load: () => import('./bench/audit.ts') },
  codec: { summary: 'taking an announcement in / one bare verification', isNetworked: false, load: () => import('./bench/codec.ts') },
  mesh: {
    summary: 'a call to another hub / an echo and a pass through the pipeline',
    isNetworked: true,
    load: () => import('./bench/mesh.ts'),
  },
  bridge: { summary: 'a command through a Matter bridge / to a lamp itself', isNetworked: true, load: () => import('./bench/bridge.ts') },
  bridged: { summary: 'memory of 20 and of 100 bridged things', isNetworked: true, load: () => import('./bench/bridged.ts') },
  link: {
    summary: 'a request on the control stream / on a stream of its own',
    isNetworked: false,
    load: () => import('./bench/link.ts'),
  },
  idle: { summary: 'a link while nothing happens: bytes, memory', isNetworked: true, load: () => import('./bench/idle.ts') },
  announce: { summary: 'bytes of an announcement / its JSON form', isNetworked: false, load: () => import('./bench/announce.ts') },
  mcp: { summary: 'a call over MCP / over the HTTP API; lists of 2,000 tools', isNetworked: false, load: () => import('./bench/mcp.ts') },
  search: { summary: 'sentences that find the right tool, and how fast', isNetworked: false, load: () => import('./bench/search.ts') },
  page: {
    summary: 'the page: bytes, time to interactive, memory of an hour, taps',
    isNetworked: false,
    load: () => import('./bench/page.ts'),
  },
  sensors: {
    summary: '100 lines and 50 probes: processor time, an edge to the event stream',
    isNetworked: false,
    load: () => import('./bench/sensors.ts'),
  },
  sandbox: {
    summary: 'starting a tool: in the hub, a thread, a process, the sandbox',
    isNetworked: false,
    load: () => import('./bench/sandbox.ts'),
  },
  connectors: { summary: 'memory that each connector adds', isNetworked: false, load: () => import('./bench/connectors.ts') },
  replay: {
    summary: 'what an automation would have done in a month of 50 sensors',
    isNetworked: false,
    load: () => import('./bench/replay.ts'),
  },
  storage: { summary: 'a day of readings on the disk', isNetworked: false, load: () => import('./bench/storage.ts') },
  soak: { summary: 'a month of a whole hub: memory, files, timers', isNetworked: false, load: () => import('./bench/soak.ts') },
  small: {
    summary: 'an hour under the bound of a small board: 20 devices, mesh, page, MCP, mixed work',
    isNetworked: true,
    load: () => import('./bench/small.ts'),
  },
  profiles: { summary: 'the memory profile small / normal: RSS and calls', isNetworked: true, load: () => import('./bench/profiles.ts') },
  wear: { summary: 'bytes that a day of a whole hub writes', isNetworked: false, load: () => import('./bench/wear.ts') },
};

function print(figure: BenchFigure): void {
  const shown = { ...figure, value: Number(figure.value.toPrecision(4)) };
  if (values.json) console.log(JSON.stringify(shown));
  else {
    const bar = shown.bar === null ? '' : `  ${shown.ok ? '✓' : '✗'} ${shown.isMinimum ? '≥' : '≤'} ${shown.bar}`;
    console.log(`${shown.name.padEnd(28)} ${String(shown.value).padStart(9)} ${shown.unit}${bar}   (n=${shown.samples}; ${shown.vs})`);
  }
}

async function gate(): Promise<number> {
  if (!isInPrivateNetwork()) return againInPrivateNetwork();
  const { runGate } = await import('./bench/gate/gate.ts');
  const { measure } = await import('./bench/gate/measure.ts');
  const { gateBase, whyNoBase, buildBase, buildPresent } = await import('./bench/gate/base-program.ts');
  const load = () => loadavg()[0] ?? 0;
  return runGate(
    { selfRuns: values.self === undefined ? undefined : Number(values.self), recordFile: values.record },
    { gateBase, whyNoBase, buildBase, buildPresent, measure, load, processors: availableParallelism() },
  );
}

async function main(): Promise<number> {
  if (values.gate) return gate();
  const [name = ''] = positionals;
  const bench = BENCHES[name];
  if (values.list || !bench) {
    for (const [known, { summary }] of Object.entries(BENCHES)) console.log(`${known.padEnd(10)} ${summary}`);
    return values.list ? 0 : 2;
  }
  if (bench.isNetworked && !isInPrivateNetwork()) return againInPrivateNetwork();
  const figures = await (await bench.load()).run();
  figures.forEach(print);
  return figures.every((figure) => figure.ok) ? 0 : 1;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
    self: { type: 'string' },
    record: { type: 'string' },
  },
});
process.exit(await main());
