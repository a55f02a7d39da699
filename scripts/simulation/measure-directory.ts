import { type SiteSummary, siteSummaryCodec } from '../../src/codec/messages/site.ts';
import { encodeBlobAnswer } from '../../src/codec/messages/sync.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { BlobStore, blobOf } from '../../src/mesh/gossip/blob-store.ts';
import { DefinitionStore, offeredDefinition } from '../../src/mesh/gossip/definition-store.ts';
import { DropCounter } from '../../src/mesh/gossip/gossip-limits.ts';
import { MeshCatalogue } from '../../src/mesh/gossip/mesh-catalogue.ts';
import { MeshDirectory } from '../../src/mesh/gossip/mesh-directory.ts';
import { makeFilter } from '../../src/mesh/sites/site-words.ts';
import { SummaryStore } from '../../src/mesh/sites/summary-store.ts';
import { VISITED_LIMITS, VisitedSites } from '../../src/mesh/sites/visited-sites.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { announceFull } from './announce-full.ts';
import { megabytes } from './measure-mesh.ts';
import { makeIdentity, SimulatedAuthority } from './simulated-authority.ts';
import { simulatedTool, siteTool } from './simulated-tools.ts';
import { SimulationClock } from './simulation-clock.ts';

/** Memory of one directory that knows `hubs` hubs, each with 40 tools of which every second is its own. */
export function measureDirectory({ hubs, tools }: { readonly hubs: number; readonly tools: number }) {
  const authority = new SimulatedAuthority();
  const clock = new SimulationClock();
  const blobs = new BlobStore({ maxBytes: 1_024 * 1_048_576 });
  const drops = new DropCounter();
  const parts = { self: makeIdentity().hubId, certificates: authority, blobs, drops, clock, isLinked: () => false, hasRoute: () => false };
  const directory = new MeshDirectory(parts, { maxHubs: hubs + 1, maxBytes: 1_024 * 1_048_576 });
  const neighbour = makeIdentity().hubId;
  const before = heapBytes();
  for (let index = 0; index < hubs; index++) {
    const offered = Array.from({ length: tools }, (_, tool) => simulatedTool(tool, tool % 2 === 0 ? 'any' : `light-${index}`));
    for (const tool of offered) blobs.add(blobOf(Uint8Array.from(offeredDefinition(tool).blob.bytes)));
    directory.receive(announceFull(authority, offered), neighbour);
  }
  const known = heapBytes() - before;
  const definitions = new DefinitionStore({ blobs, validator: new SchemaValidator(), drops, logger: silentLogger });
  const listed = new MeshCatalogue({ directory, definitions, clock }).all().length;
  return {
    hubs: directory.hubs().length,
    listed,
    heapMegabytes: megabytes(known),
    withCatalogueMegabytes: megabytes(heapBytes() - before),
    estimatedMegabytes: megabytes(directory.bytes + blobs.bytes),
  };
}

/** Memory of a directory that knows `hubs` hubs of its site, the summaries of `sites` other sites, and eight of those sites by a lookup. */
export function measureSiteDirectory({ hubs, tools, sites }: { readonly hubs: number; readonly tools: number; readonly sites: number }) {
  const authority = new SimulatedAuthority();
  const clock = new SimulationClock();
  const blobs = new BlobStore();
  const drops = new DropCounter();
  const self = makeIdentity().hubId;
  const parts = { self, certificates: authority, blobs, drops, clock, isLinked: () => false, hasRoute: () => true };
  const neighbour = makeIdentity().hubId;
  const time = { now: () => clock.now(), isTrusted: () => true };
  const before = heapBytes();
  const directory = new MeshDirectory({ ...parts, site: 'home' }, {});
  const summaries = new SummaryStore({ site: 'home', certificates: authority, isOfOwnSite: () => false, clock, time });
  const visited = new VisitedSites({ blobs, clock, makeDirectory: (site) => new MeshDirectory({ ...parts, site }, VISITED_LIMITS) });
  const offerOf = (site: string, hub: number) =>
    Array.from({ length: tools }, (_, tool) => siteTool(tool, tool % 2 === 0 ? 'any' : `${site}_h${hub}`));
  for (let hub = 0; hub < hubs; hub++) {
    const offered = offerOf('home', hub);
    for (const tool of offered) blobs.add(blobOf(Uint8Array.from(offeredDefinition(tool).blob.bytes)));
    directory.receive(announceFull(authority, offered, 'home'), neighbour);
  }
  for (let site = 0; site < sites; site++) summaries.receive(summaryOf(authority, `site-${site}`, { hubs, tools, timeMs: clock.now() }));
  const known = heapBytes() - before;
  for (let site = 0; site < VISITED; site++) {
    const offers = Array.from({ length: hubs }, (_, hub) => offerOf(`site-${site}`, hub));
    const definitions = offers.flat().map((tool) => offeredDefinition(tool).blob.bytes);
    const envelopes = offers.map((offered) => announceFull(authority, offered, `site-${site}`));
    const answers = Array.from({ length: Math.ceil(definitions.length / 256) }, (_, part) =>
      encodeBlobAnswer({ blobs: definitions.slice(256 * part, 256 * (part + 1)) }),
    );
    visited.record(`site-${site}`, { envelopes, blobs: answers }, neighbour);
  }
  return {
    hubs: directory.hubs().length,
    sites: summaries.others().size,
    visited: visited.hubs().length,
    summaryBytes: Math.round(summaries.bytes / sites),
    heapMegabytes: megabytes(known),
    withVisitedMegabytes: megabytes(heapBytes() - before),
  };
}

/** Number of other sites that a hub remembers at most. */
const VISITED = 8;

function summaryOf(
  authority: SimulatedAuthority,
  site: string,
  { hubs, tools, timeMs }: { readonly hubs: number; readonly tools: number; readonly timeMs: number },
): Uint8Array {
  const [border, other] = [makeIdentity(), makeIdentity()];
  const names = Array.from({ length: (hubs * tools) / 2 }, (_, index) => `${site}_tool_${index}`);
  const summary: SiteSummary = {
    site,
    hubId: border.hubId,
    epoch: 1,
    sequence: 1,
    timeMs,
    ttlSeconds: 7_200,
    certificate: authority.certify(border),
    borders: [border, other].map(({ hubId }) => ({ id: hubId, addresses: ['192.168.1.20:8082', '[2001:db8::20]:8082'] })),
    hubs,
    filter: makeFilter(site, new Set(names)),
  };
  return siteSummaryCodec.sign(summary, border.privateKey);
}

function heapBytes(): number {
  // What is held weakly goes with the second time.
  for (let time = 0; time < 2; time++) globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
