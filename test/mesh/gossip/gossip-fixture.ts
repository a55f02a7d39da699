import { makeIdentity, SimulatedAuthority } from '../../../scripts/simulation/simulated-authority.ts';
import { type HubState, inCanonicalOrder, stateDigest } from '../../../src/codec/messages/announced-state.ts';
import { type Announcement, changesBetween, openAnnouncement, signAnnouncement } from '../../../src/codec/messages/announcement.ts';
import type { HubId } from '../../../src/core/ids.ts';
import type { OpenEnvelope } from '../../../src/mesh/gossip/announcement-validator.ts';
import { BlobStore } from '../../../src/mesh/gossip/blob-store.ts';
import { DropCounter, type GossipLimits } from '../../../src/mesh/gossip/gossip-limits.ts';
import { MeshDirectory } from '../../../src/mesh/gossip/mesh-directory.ts';
import { ManualClock } from '../../manual-clock.ts';

/** A hub that announces whatever a test wants, with real signatures. */
export class Origin {
  readonly identity = makeIdentity();
  readonly id: HubId = this.identity.hubId;
  readonly certificate;
  epoch: number;
  timeMs = Date.UTC(2026, 0, 1);
  state: HubState = { name: 'attic', version: '1.0.0', addresses: [], links: [], capabilities: [], tools: [], devices: [] };
  #sequence = 0;
  #base = 0;

  constructor(authority: SimulatedAuthority, epoch = 1) {
    this.certificate = authority.certify(this.identity);
    this.epoch = epoch;
  }

  full(change: Partial<HubState> = {}): Uint8Array {
    this.state = { ...this.state, ...change };
    this.#base = this.#sequence + 1;
    const { tools, devices, ...head } = this.state;
    const state = {
      ...head,
      tools: { kind: 'inline', entries: tools } as const,
      devices: devices && ({ kind: 'inline', entries: devices } as const),
    };
    return this.sign({ kind: 'full', certificate: this.certificate, state, ...this.header() });
  }

  delta(change: Partial<HubState>): Uint8Array {
    const changes = changesBetween(this.state, { ...this.state, ...change });
    if (!changes) return this.full(change);
    this.state = { ...this.state, ...change };
    const baseSequence = this.#base;
    this.#base = this.#sequence + 1;
    return this.sign({ kind: 'delta', baseSequence, changes, ...this.header() });
  }

  heartbeat(): Uint8Array {
    return this.sign({ kind: 'heartbeat', ...this.header() });
  }

  withdrawal(): Uint8Array {
    return this.sign({ kind: 'withdrawal', ...this.header() });
  }

  /** As a hub does it that starts again. */
  restart(epoch = this.epoch + 1): void {
    this.epoch = epoch;
    this.#sequence = 0;
    this.#base = 0;
  }

  header() {
    this.#sequence += 1;
    const { epoch, timeMs } = this;
    return { hubId: this.id, epoch, sequence: this.#sequence, timeMs, ttlSeconds: 300, digest: stateDigest(this.state) };
  }

  sign(announcement: Announcement, key = this.identity.privateKey): Uint8Array {
    return signAnnouncement(announcement, key);
  }
}

/** Tools by short names, with made-up hashes. */
export function namedTools(...names: readonly string[]): HubState['tools'] {
  return inCanonicalOrder(
    names.map((name) => ({ id: `core:${name}@1.0.0`, hash: Buffer.from(name.padEnd(8, '.').slice(0, 8)).toString('hex') })),
  );
}

/** A directory with everything around it, on a clock that is moved by hand. */
export function makeDirectory(authority = new SimulatedAuthority(), limits: Partial<GossipLimits> = {}) {
  const clock = new ManualClock();
  const drops = new DropCounter();
  const blobs = new BlobStore();
  const linked = new Set<HubId>();
  const ways = new Set<HubId>();
  const verified = { count: 0 };
  const open: OpenEnvelope = (envelope, keyOf) => {
    const announcement = openAnnouncement(envelope, (unverified) => {
      const key = keyOf(unverified);
      if (key) verified.count += 1;
      return key;
    });
    return { announcement, envelope };
  };
  const parts = {
    self: makeIdentity().hubId,
    certificates: authority,
    blobs,
    drops,
    clock,
    isLinked: (id: HubId) => linked.has(id),
    hasRoute: (id: HubId) => ways.has(id),
    open,
  };
  const directory = new MeshDirectory(parts, limits);
  const neighbour = makeIdentity().hubId;
  const toolsOf = (id: HubId) => directory.hub(id)?.tools.map((tool) => tool.id.slice('core:'.length, -'@1.0.0'.length));
  return { authority, clock, drops, blobs, linked, ways, verified, directory, neighbour, toolsOf };
}
