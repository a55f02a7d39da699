/**
 * Shows how a mesh behaves as it grows: `node --expose-gc scripts/mesh-simulation.ts [hubs…]` for meshes of 10, 100 and 300 hubs with 40
 * tools each, or of the numbers of hubs given; `--sites [sites…]` for 5 and 20 sites, or the numbers given, of 20 hubs with 10 tools each.
 * Hubs connect as real ones do. Announcer, directory, exchanges and choice of neighbours are the real ones; network, links and clock are
 * simulated. docs/mesh-scale.md explains the figures.
 */
import { measureDirectory, measureSiteDirectory } from './simulation/measure-directory.ts';
import { type MeshFigures, measureMesh } from './simulation/measure-mesh.ts';
import { measureSites, type SitesFigures } from './simulation/measure-sites.ts';

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

const HUBS_PER_SITE = 20;
const TOOLS_IN_SITES = 10;
const SITE_ROWS: readonly (readonly [string, (figures: SitesFigures) => string | number])[] = [
  ['hubs', ({ hubs }) => hubs],
  ['connections of a hub, average and most', ({ connections }) => `${connections.average}, ${connections.most}`],
  ['all know their site and all summaries from a cold start, simulated ms', ({ coldMs }) => coldMs],
  ['a new tool is known in its site, p50, all, ms', ({ newToolMs }) => `${newToolMs.half}, ${newToolMs.all}`],
  ['it is in the summaries of all other sites, p50, all, ms', ({ elsewhereMs }) => `${elsewhereMs.half}, ${elsewhereMs.all}`],
  ['a lookup of it, ms', ({ elsewhereMs }) => elsewhereMs.lookup],
  ['a lookup right after a border member lost its power, ms', ({ lossMs }) => lossMs.lookup],
  ['another one is chosen, its summary is known everywhere, ms', ({ lossMs }) => `${lossMs.chosen}, ${lossMs.summary}`],
  ['gossip sent, MB per hub and hour', ({ perHubAndHour }) => perHubAndHour.gossipMegabytes],
  ['comparisons with neighbours sent, MB per hub and hour', ({ perHubAndHour }) => perHubAndHour.linksMegabytes],
  ['both, of the hub that sends most', ({ perHubAndHour }) => perHubAndHour.mostMegabytes],
  ['one changed summary, bytes that each hub sends', ({ bytesPerSummary }) => bytesPerSummary],
  ['size of a summary, bytes', ({ summaryBytes }) => summaryBytes],
];

if (process.argv.includes('--sites')) await simulateSites();
else await simulateMeshes();

async function simulateSites(): Promise<void> {
  const shapeOf = (sites: number, tools: number) => ({ sites, hubsPerSite: HUBS_PER_SITE, hubs: HUBS_PER_SITE, tools });
  const counts = numbersGiven([5, 20]);
  measureSiteDirectory(shapeOf(2, TOOLS));
  const memories = new Map(counts.map((sites) => [sites, measureSiteDirectory(shapeOf(sites, TOOLS))]));
  for (const sites of counts) {
    const startMs = performance.now();
    const figures = await measureSites(shapeOf(sites, TOOLS_IN_SITES));
    print('sites', sites);
    for (const [label, value] of SITE_ROWS) print(label, value(figures));
    const { heapMegabytes, withVisitedMegabytes } = memories.get(sites) ?? {};
    print('directory of one hub, and with eight visited sites, MB of heap', `${heapMegabytes}, ${withVisitedMegabytes}`);
    print('the simulation itself: seconds, MB of memory', `${seconds(performance.now() - startMs)}, ${residentMegabytes()}`);
    console.log('');
  }
}

function numbersGiven(instead: readonly number[]): readonly number[] {
  const given = process.argv.slice(2).map(Number).filter(Number.isInteger);
  return given.length > 0 ? given : instead;
}

async function simulateMeshes(): Promise<void> {
  const sizes = numbersGiven([10, 100, 300]);
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
