import type { SimulatedHub } from './simulated-hub.ts';
import { SimulatedMesh } from './simulated-mesh.ts';
import { simulatedTool } from './simulated-tools.ts';

/** Size and shape of a mesh. */
export interface MeshShape {
  readonly hubs: number;
  readonly tools: number;
  readonly degree: number;
}

/** What became of it. Times in simulated milliseconds. */
export interface MeshFigures {
  readonly hubs: number;
  readonly coldMs: number;
  readonly newToolMs: { readonly half: number; readonly all: number };
  readonly joinerMs: { readonly knows: number; readonly isKnown: number };
  readonly perHubAndHour: {
    readonly gossipMessages: number;
    readonly gossipMegabytes: number;
    readonly syncMegabytes: number;
    readonly opened: number;
  };
}

const LONGEST_MS = 600_000;
const STEADY_MS = 60_000;
const PER_HOUR = 3_600_000 / STEADY_MS;

/** Starts a mesh, lets it settle, and measures news, a late joiner and the traffic of a quiet minute. */
export async function measureMesh({ hubs, tools, degree }: MeshShape): Promise<MeshFigures> {
  await using mesh = new SimulatedMesh({ degree });
  const offered = Array.from({ length: tools }, (_, index) => simulatedTool(index, 'any'));
  for (let index = 0; index < hubs; index++) await mesh.add({ tools: offered });
  await mesh.connectAll();
  const coldMs = await mesh.converge(LONGEST_MS);
  const newToolMs = await measureNews(mesh, tools);
  const joinerMs = await measureJoiner(mesh, offered);
  return { hubs, coldMs, newToolMs, joinerMs, perHubAndHour: await measureQuietMinute(mesh) };
}

async function measureNews(mesh: SimulatedMesh, index: number): Promise<MeshFigures['newToolMs']> {
  const [first, ...others] = mesh.hubs;
  if (!first) return { half: 0, all: 0 };
  first.registry.register(simulatedTool(index, 'any'));
  const half = await untilFewer(mesh, others, { than: others.length / 2, knows: (hub) => hub.knowsHub(first) });
  return { half, all: half + (await untilFewer(mesh, others, { than: 0, knows: (hub) => hub.knowsHub(first) })) };
}

async function measureJoiner(mesh: SimulatedMesh, tools: Parameters<SimulatedMesh['add']>[0]['tools']): Promise<MeshFigures['joinerMs']> {
  const others = [...mesh.hubs];
  const joiner = await mesh.add({ tools });
  const joined = mesh.join(joiner);
  const knows = await mesh.clock.run(LONGEST_MS, () => joiner.knows(mesh.hubs));
  const isKnown = await untilFewer(mesh, others, { than: 0, knows: (hub) => hub.knowsHub(joiner) });
  await joined;
  return { knows, isKnown: knows + isKnown };
}

/** Simulated milliseconds until at most so many hubs do not know it. */
async function untilFewer(
  mesh: SimulatedMesh,
  hubs: readonly SimulatedHub[],
  { than, knows }: { readonly than: number; readonly knows: (hub: SimulatedHub) => boolean },
): Promise<number> {
  let unsure = [...hubs];
  return await mesh.clock.run(LONGEST_MS, () => {
    unsure = unsure.filter((hub) => !knows(hub));
    return unsure.length <= than;
  });
}

async function measureQuietMinute(mesh: SimulatedMesh): Promise<MeshFigures['perHubAndHour']> {
  await mesh.clock.run(5_000);
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

function megabytes(bytes: number): number {
  return Math.round(bytes / 10_000) / 100;
}
