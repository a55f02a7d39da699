import { wordOfName } from '../../src/mesh/sites/site-words.ts';
import { measureSpread, megabytes } from './measure-mesh.ts';
import type { SimulatedHub } from './simulated-hub.ts';
import { SimulatedSites, type SitesShape } from './simulated-sites.ts';
import { siteTool } from './simulated-tools.ts';

/** What became of it. Times in simulated milliseconds. */
export interface SitesFigures {
  readonly hubs: number;
  readonly connections: { readonly average: number; readonly most: number };
  readonly coldMs: number;
  readonly newToolMs: { readonly half: number; readonly all: number };
  /** Until the summaries of all hubs of other sites have the new tool, and a lookup after that. */
  readonly elsewhereMs: { readonly half: number; readonly all: number; readonly lookup: number };
  /** After the first border member of a site lost its power: a lookup at once, and until all other hubs have the summary of the next one. */
  readonly lossMs: { readonly lookup: number; readonly chosen: number; readonly summary: number };
  readonly perHubAndHour: { readonly gossipMegabytes: number; readonly linksMegabytes: number; readonly mostMegabytes: number };
  /** What one changed summary costs each hub. */
  readonly bytesPerSummary: number;
  readonly summaryBytes: number;
}

const LONGEST_MS = 600_000;
const SETTLE_MS = 30_000;
/** A heartbeat of each hub, four comparisons. */
const STEADY_MS = 120_000;
const PER_HOUR = 3_600_000 / STEADY_MS;
const CHANGED_SITES = 5;

/** Starts a mesh with sites, lets it settle, and measures news, the loss of a border member and the traffic of quiet minutes. */
export async function measureSites(shape: SitesShape): Promise<SitesFigures> {
  await using sim = new SimulatedSites();
  const { clock, hubs } = sim.mesh;
  const startMs = clock.monotonic();
  await sim.start(shape);
  await measureSpread(sim.mesh, hubs, (hub) => knowsAll(hub, shape));
  const coldMs = clock.monotonic() - startMs;
  await clock.run(SETTLE_MS);
  const counts = hubs.map(({ links }) => links.links().length);
  const connections = { average: round(sum(counts) / hubs.length), most: Math.max(...counts) };
  const news = await measureNews(sim);
  await clock.run(SETTLE_MS);
  const before = hubs.map(trafficOf);
  await clock.run(STEADY_MS);
  const quiet = hubs.map((hub, index) => difference(trafficOf(hub), before[index]));
  const bytesPerSummary = await measureSummaries(sim, quiet);
  const lossMs = await measureLoss(sim);
  const stored = [...(hubs[0]?.gossip.sites?.summaries.envelopes(() => true, Number.POSITIVE_INFINITY) ?? [])];
  return {
    hubs: hubs.length,
    connections,
    coldMs,
    ...news,
    lossMs,
    perHubAndHour: {
      gossipMegabytes: megabytes((sum(quiet.map(({ gossip }) => gossip)) * PER_HOUR) / hubs.length),
      linksMegabytes: megabytes((sum(quiet.map(({ links }) => links)) * PER_HOUR) / hubs.length),
      mostMegabytes: megabytes(Math.max(...quiet.map(({ gossip, links }) => gossip + links)) * PER_HOUR),
    },
    bytesPerSummary,
    summaryBytes: Math.round(sum(stored.map(({ length }) => length)) / Math.max(1, stored.length)),
  };
}

async function measureNews(sim: SimulatedSites): Promise<Pick<SitesFigures, 'newToolMs' | 'elsewhereMs'>> {
  const { clock } = sim.mesh;
  const [home = [], ...others] = sim.sites;
  const [first, ...inside] = home;
  const tool = siteTool(39, 'news');
  const startMs = clock.monotonic();
  first?.registry.register(tool);
  const newToolMs = await measureSpread(sim.mesh, inside, (hub) => first !== undefined && hub.knowsHub(first));
  const word = wordOfName(tool.id);
  const knows = ({ gossip }: SimulatedHub) => gossip.sites?.summaries.mayHave('site-0', word) ?? false;
  const { half, all } = await measureSpread(sim.mesh, others.flat(), knows, startMs);
  const finder = others[Math.floor(others.length / 2)]?.at(-1);
  const lookup = finder ? await find(sim, finder, tool.definition.name) : Number.NaN;
  return { newToolMs, elsewhereMs: { half, all, lookup } };
}

/** Bytes that a changed summary makes each hub send, above those of quiet times. */
async function measureSummaries(sim: SimulatedSites, quiet: readonly Traffic[]): Promise<number> {
  const { clock, hubs } = sim.mesh;
  const before = hubs.map(trafficOf);
  for (const [hub] of sim.sites.slice(-CHANGED_SITES)) hub?.registry.register(siteTool(39, 'other'));
  await clock.run(STEADY_MS);
  const after = hubs.map((hub, index) => difference(trafficOf(hub), before[index]));
  const extra = sum(after.map(({ links }) => links)) - sum(quiet.map(({ links }) => links));
  return Math.round(extra / hubs.length / Math.min(CHANGED_SITES, sim.sites.length));
}

async function measureLoss(sim: SimulatedSites): Promise<SitesFigures['lossMs']> {
  const { clock, hubs } = sim.mesh;
  const site = sim.sites[1] ?? [];
  const ids = site[0]?.gossip.sites?.borders() ?? [];
  const lost = site.find(({ id }) => id === ids[0]);
  const [witness, tooled] = site.filter((hub) => !ids.includes(hub.id));
  const finder = sim.sites[0]?.find((hub) => !hub.gossip.sites?.isBorder());
  if (!lost || !witness || !tooled || !finder) return { lookup: Number.NaN, chosen: Number.NaN, summary: Number.NaN };
  const startMs = clock.monotonic();
  sim.losePower(lost);
  const name = [...tooled.registry.all()].find(({ definition }) => definition.name.startsWith('s1h'))?.definition.name ?? '';
  const lookup = await find(sim, finder, name);
  await clock.run(LONGEST_MS, () => !witness.gossip.sites?.borders().includes(lost.id));
  const chosen = clock.monotonic() - startMs;
  const next = witness.gossip.sites?.borders()[0];
  const knows = ({ gossip }: SimulatedHub) =>
    gossip.sites?.views().some(({ site: other, borders }) => other === 'site-1' && borders[0] === next);
  const others = hubs.filter((hub) => hub.site !== 'site-1');
  const { all } = await measureSpread(sim.mesh, others, (hub) => knows(hub) ?? false, startMs);
  return { lookup, chosen, summary: all };
}

/** Simulated milliseconds until the hub has found the tool, which it asks for again after each answer. */
async function find(sim: SimulatedSites, { gossip }: SimulatedHub, name: string): Promise<number> {
  const { clock } = sim.mesh;
  const startMs = clock.monotonic();
  let isFound = false;
  const ask = async () => {
    await gossip.catalogue.awaitComplete(undefined, { name });
    isFound = gossip.catalogue.resolve(name, {}) !== undefined;
  };
  while (!isFound && clock.monotonic() - startMs < LONGEST_MS) {
    let isAnswered = false;
    void ask().finally(() => {
      isAnswered = true;
    });
    await clock.run(LONGEST_MS, () => isAnswered);
    if (!isFound) await clock.run(100);
  }
  return clock.monotonic() - startMs;
}

function knowsAll({ gossip }: SimulatedHub, { sites, hubsPerSite }: SitesShape): boolean {
  const isWhole = gossip.directory.hubs().length === hubsPerSite - 1 && gossip.directory.missingBlobs().size === 0;
  return isWhole && gossip.sites?.summaries.others().size === sites - 1;
}

interface Traffic {
  readonly gossip: number;
  readonly links: number;
}

function trafficOf({ sent, links }: SimulatedHub): Traffic {
  return { gossip: sent.bytes, links: links.traffic.sentBytes };
}

function difference(after: Traffic, before: Traffic | undefined): Traffic {
  return { gossip: after.gossip - (before?.gossip ?? 0), links: after.links - (before?.links ?? 0) };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function round(value: number): number {
  return Math.round(10 * value) / 10;
}
