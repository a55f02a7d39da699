import type { SimulatedHub } from './simulated-hub.ts';
import { SimulatedMesh } from './simulated-mesh.ts';
import { simulatedTool } from './simulated-tools.ts';

/** Size of a mesh. */
export interface MeshShape {
  readonly hubs: number;
  /** Of each hub. */
  readonly tools: number;
}

/** Simulated milliseconds until so many of the other hubs knew. */
interface Spread {
  readonly half: number;
  readonly mostly: number;
  readonly all: number;
}

/** What became of it. Times in simulated milliseconds. */
export interface MeshFigures {
  readonly hubs: number;
  /** Connections of a hub. */
  readonly neighbours: { readonly average: number; readonly most: number };
  readonly coldMs: number;
  readonly newToolMs: Spread;
  readonly joinerKnowsMs: number;
  readonly joinerIsKnownMs: Spread;
  readonly perHubAndHour: {
    readonly gossipMessages: number;
    readonly gossipMegabytes: number;
    readonly syncMegabytes: number;
    readonly opened: number;
  };
}

const LONGEST_MS = 600_000;
/** What comes of a cold start and of a joiner is over. */
const SETTLE_MS = 15_000;
/** A heartbeat of each hub, four comparisons. */
const STEADY_MS = 120_000;
const PER_HOUR = 3_600_000 / STEADY_MS;

/** Starts a mesh, lets it settle, and measures news, a late joiner and the traffic of quiet minutes. */
export async function measureMesh({ hubs, tools }: MeshShape): Promise<MeshFigures> {
  await using mesh = new SimulatedMesh();
  const offered = Array.from({ length: tools }, (_, index) => simulatedTool(index, 'any'));
  for (let index = 0; index < hubs; index++) await mesh.add({ tools: offered });
  const startMs = mesh.clock.monotonic();
  await mesh.connectAll();
  await mesh.converge(LONGEST_MS);
  const coldMs = mesh.clock.monotonic() - startMs;
  await mesh.clock.run(SETTLE_MS);
  const neighbours = neighboursOf(mesh);
  const newToolMs = await measureNews(mesh, tools);
  const joiner = await measureJoiner(mesh, offered);
  await mesh.clock.run(SETTLE_MS);
  return { hubs, neighbours, coldMs, newToolMs, ...joiner, perHubAndHour: await measureQuiet(mesh) };
}

function neighboursOf({ hubs }: SimulatedMesh): MeshFigures['neighbours'] {
  const counts = hubs.map(({ links }) => links.links().length);
  const sum = counts.reduce((total, count) => total + count, 0);
  return { average: Math.round((10 * sum) / hubs.length) / 10, most: Math.max(...counts) };
}

async function measureNews(mesh: SimulatedMesh, index: number): Promise<Spread> {
  const [first, ...others] = mesh.hubs;
  first?.registry.register(simulatedTool(index, 'any'));
  return await measureSpread(mesh, others, (hub) => first !== undefined && hub.knowsHub(first));
}

async function measureJoiner(mesh: SimulatedMesh, tools: Parameters<SimulatedMesh['add']>[0]['tools']) {
  const others = [...mesh.hubs];
  const joiner = await mesh.add({ tools });
  const startMs = mesh.clock.monotonic();
  const joined = mesh.join(joiner);
  let joinerKnowsMs: number | undefined;
  const joinerIsKnownMs = await measureSpread(mesh, others, (hub) => {
    if (joinerKnowsMs === undefined && joiner.knows(mesh.hubs)) joinerKnowsMs = mesh.clock.monotonic() - startMs;
    return hub.knowsHub(joiner);
  });
  joinerKnowsMs ??= mesh.clock.monotonic() - startMs + (await mesh.clock.run(LONGEST_MS, () => joiner.knows(mesh.hubs)));
  await joined;
  return { joinerKnowsMs, joinerIsKnownMs };
}

/** How the hubs come to know something, in milliseconds since `startMs`. */
export async function measureSpread(
  mesh: SimulatedMesh,
  hubs: readonly SimulatedHub[],
  knows: (hub: SimulatedHub) => boolean,
  startMs = mesh.clock.monotonic(),
): Promise<Spread> {
  let unsure = [...hubs];
  const untilFewer = async (share: number) => {
    await mesh.clock.run(LONGEST_MS, () => {
      unsure = unsure.filter((hub) => !knows(hub));
      return unsure.length <= share * hubs.length;
    });
    return mesh.clock.monotonic() - startMs;
  };
  return { half: await untilFewer(0.5), mostly: await untilFewer(0.05), all: await untilFewer(0) };
}

async function measureQuiet(mesh: SimulatedMesh): Promise<MeshFigures['perHubAndHour']> {
  const before = totalsOf(mesh);
  await mesh.clock.run(STEADY_MS);
  const after = totalsOf(mesh);
  const rate = (name: keyof typeof after) => ((after[name] - before[name]) * PER_HOUR) / mesh.hubs.length;
  return {
    gossipMessages: Math.round(rate('messages')),
    gossipMegabytes: megabytes(rate('gossipBytes')),
    syncMegabytes: megabytes(rate('syncBytes')),
    opened: Math.round(rate('opened')),
  };
}

function totalsOf({ hubs, verification }: SimulatedMesh) {
  const sum = (value: (hub: SimulatedHub) => number) => hubs.reduce((total, hub) => total + value(hub), 0);
  return {
    messages: sum(({ sent }) => sent.messages),
    gossipBytes: sum(({ sent }) => sent.bytes),
    syncBytes: sum(({ links }) => links.traffic.sentBytes),
    opened: verification.opened,
  };
}

/** Megabytes with two digits behind the point. */
export function megabytes(bytes: number): number {
  return Math.round(bytes / 10_000) / 100;
}
