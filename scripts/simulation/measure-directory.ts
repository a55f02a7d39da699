import { silentLogger } from '../../src/core/logger.ts';
import { BlobStore, blobOf } from '../../src/mesh/gossip/blob-store.ts';
import { DefinitionStore, offeredDefinition } from '../../src/mesh/gossip/definition-store.ts';
import { DropCounter } from '../../src/mesh/gossip/gossip-limits.ts';
import { MeshCatalogue } from '../../src/mesh/gossip/mesh-catalogue.ts';
import { MeshDirectory } from '../../src/mesh/gossip/mesh-directory.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { announceFull } from './announce-full.ts';
import { makeIdentity, SimulatedAuthority } from './simulated-authority.ts';
import { simulatedTool } from './simulated-tools.ts';
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

function heapBytes(): number {
  // What is held weakly goes with the second time.
  for (let time = 0; time < 2; time++) globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 10_000) / 100;
}
