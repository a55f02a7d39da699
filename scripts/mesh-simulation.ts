/**
 * How a mesh behaves as it grows: `node --expose-gc scripts/mesh-simulation.ts [hubs…]`, default 10, 100 and 300 hubs with 40 tools
 * each, connected as real ones are. Announcer, directory, exchanges and choice of neighbours are the real ones; network, links and
 * clock are simulated. docs/mesh-scale.md explains the figures.
 */
import { measureDirectory } from './simulation/measure-directory.ts';
import { type MeshFigures, measureMesh } from './simulation/measure-mesh.ts';

const TOOLS = 40;
const ROWS: readonly (readonly [string, (figures: MeshFigures) => string | number])[] = [
  ['hubs', ({ hubs }) => hubs],
  ['connections of a hub, average and most', ({ neighbours }) => `${neighbours.average}, ${neighbours.most}`],
  ['all know all from a cold start, simulated ms', ({ coldMs }) => coldMs],
  ['a new tool is known with its definition, p50, p95, all, ms', ({ newToolMs }) => textOf(newToolMs)],
  ['a late joiner knows all, ms', ({ joinerKnowsMs }) => joinerKnowsMs],
  ['the late joiner is known with its definitions, p50, p95, all, ms', ({ joinerIsKnownMs }) => textOf(joinerIsKnownMs)],
  ['gossip messages sent, per hub and hour', ({ perHubAndHour }) => perHubAndHour.gossipMessages],
  ['gossip sent, MB per hub and hour', ({ perHubAndHour }) => perHubAndHour.gossipMegabytes],
  ['comparisons with neighbours sent, MB per hub and hour', ({ perHubAndHour }) => perHubAndHour.syncMegabytes],
  ['announcements opened, per hub and hour', ({ perHubAndHour }) => perHubAndHour.opened],
];

const given = process.argv.slice(2).map(Number).filter(Number.isInteger);
const sizes = given.length > 0 ? given : [10, 100, 300];
// What is loaded and compiled on first use is not the directories'.
measureDirectory({ hubs: 2, tools: TOOLS });
// Before the meshes: what they leave behind would be counted.
const memories = new Map(sizes.map((hubs) => [hubs, measureDirectory({ hubs, tools: TOOLS })]));
for (const hubs of sizes) {
  const memory = memories.get(hubs);
  const startMs = performance.now();
  const figures = await measureMesh({ hubs, tools: TOOLS });
  for (const [label, value] of ROWS) print(label, value(figures));
  print('directory of one hub, MB of heap (its own estimate)', `${memory?.heapMegabytes} (${memory?.estimatedMegabytes})`);
  print('the same once all tools were listed', String(memory?.withCatalogueMegabytes));
  print('the simulation itself: seconds, MB of memory', `${seconds(performance.now() - startMs)}, ${residentMegabytes()}`);
  console.log('');
}

function print(label: string, value: string | number): void {
  console.log(`${label.padEnd(68)} ${value}`);
}

function textOf({ half, mostly, all }: MeshFigures['newToolMs']): string {
  return `${half}, ${mostly}, ${all}`;
}

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}

function residentMegabytes(): number {
  return Math.round(process.resourceUsage().maxRSS / 1024);
}
