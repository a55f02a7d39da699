import { blobRequestCodec, decodeBlobAnswer, encodeBlobAnswer } from '../../codec/messages/blobs.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import type { Service } from '../../core/lifecycle.ts';
import { KeyedRateLimit } from '../rate-limit.ts';
import type { IncomingRequest, PeerLink, PeerLinks } from '../rpc/peer-link.ts';
import { type BlobStore, blobOf } from './blob-store.ts';
import type { DropCounter } from './gossip-limits.ts';
import type { MeshDirectory } from './mesh-directory.ts';
import { requestWithin } from './neighbour-rounds.ts';
import { CoalescingTimer } from './timers.ts';

interface ExchangeCollaborators {
  readonly links: PeerLinks;
  readonly directory: MeshDirectory;
  readonly blobs: BlobStore;
  readonly drops: DropCounter;
  readonly clock: Clock;
  /** Heard when blobs arrived. */
  readonly onArrived: () => void;
}

/** Blobs of one request, and bytes of one answer. */
const MAX_BATCH = 128;
const MAX_ANSWER_BYTES = 2_097_152;
/** News arrive in bunches: what they need is asked for together. */
const GATHER_MS = 5;
/** After so long a neighbour is asked again for what it did not have: at first it may be about to get it itself. */
const FIRST_RETRY_MS = 20;
const LAST_RETRY_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;
/** Of one neighbour, by 64 KiB of answers: to deflate them takes longer than to ask for them. */
const REQUEST_RATE = { burst: 512, perSecond: 16 };
const ASKED_BYTES = 65_536;

/** A blob that is missing, and a hub that announces it. */
interface MissingBlob {
  readonly name: string;
  readonly origin: HubId;
}

/** Fetches the definitions and pages that announcements name by hash, and gives others what they ask for. */
export class BlobExchange implements Service {
  readonly #parts: ExchangeCollaborators;
  readonly #asked: KeyedRateLimit;
  readonly #busy = new Set<HubId>();
  /** `name neighbour` → until when it is not asked for that, and for how long it was not. */
  readonly #refused = new Map<string, { readonly untilMs: number; readonly waitMs: number }>();
  readonly #wakeup: CoalescingTimer;
  #listening: (() => void)[] = [];

  constructor(collaborators: ExchangeCollaborators) {
    this.#parts = collaborators;
    this.#asked = new KeyedRateLimit(collaborators.clock, REQUEST_RATE);
    this.#wakeup = new CoalescingTimer(collaborators.clock, () => this.#fetch());
  }

  async start(): Promise<void> {
    const { links, directory } = this.#parts;
    links.handle('blobs', async (request) => this.#answer(request));
    const soon = () => this.#wakeup.within(GATHER_MS);
    this.#listening = [directory.onChange(soon), links.onLinkUp(soon)];
    soon();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#listening) stop();
    this.#listening = [];
    this.#wakeup.stop();
  }

  /** Forgets what no hub needs any more, and looks for what got lost: nobody tells of that. */
  sweep(): void {
    const forgottenMs = this.#parts.clock.monotonic() - LAST_RETRY_MS;
    this.#parts.blobs.retain(this.#parts.directory.usedBlobs());
    for (const [key, { untilMs }] of this.#refused) if (untilMs <= forgottenMs) this.#refused.delete(key);
    if (this.#listening.length > 0) this.#wakeup.within(GATHER_MS);
  }

  #fetch(): void {
    const missing = this.#parts.directory.missingBlobs();
    const batches = new Map<PeerLink, MissingBlob[]>();
    for (const [name, origin] of missing) {
      const link = this.#parts.blobs.isFullFor(origin) ? undefined : this.#sourceOf(name, origin);
      const batch = link && (batches.get(link) ?? []);
      if (!link || !batch || batch.length >= MAX_BATCH) continue;
      batches.set(link, [...batch, { name, origin }]);
    }
    for (const [link, wanted] of batches) void this.#fetchFrom(link, wanted);
    if (missing.size > 0) this.#wakeup.within(this.#nextRetryMs());
  }

  /** The origin where it is a neighbour, else any that has not said that it has it not; nobody is asked twice at a time. */
  #sourceOf(name: string, origin: HubId): PeerLink | undefined {
    const { links, clock } = this.#parts;
    const hasRefused = ({ peer }: PeerLink) => (this.#refused.get(`${name} ${peer.id}`)?.untilMs ?? 0) > clock.monotonic();
    const isFree = ({ peer }: PeerLink) => !this.#busy.has(peer.id);
    const direct = links.to(origin);
    if (direct && !hasRefused(direct)) return isFree(direct) ? direct : undefined;
    return links.links().find((link) => isFree(link) && !hasRefused(link));
  }

  async #fetchFrom(link: PeerLink, wanted: readonly MissingBlob[]): Promise<void> {
    const { id } = link.peer;
    const answer = await this.#ask(link, wanted);
    if (this.#listening.length === 0) return;
    const blobs = answer ? decoded(answer) : [];
    const kept = wanted.filter((one, index) => this.#keep(one, blobs[index] ?? null, id));
    this.#wakeup.within(GATHER_MS);
    if (kept.length === 0) return;
    this.#parts.directory.assemble();
    this.#parts.onArrived();
  }

  async #ask(link: PeerLink, wanted: readonly MissingBlob[]): Promise<Uint8Array | undefined> {
    const { id } = link.peer;
    this.#busy.add(id);
    try {
      return await requestWithin(this.#parts.clock, REQUEST_TIMEOUT_MS, (signal) => {
        return link.request('blobs', blobRequestCodec.encode({ hashes: wanted.map(({ name }) => name) }), { signal });
      });
    } finally {
      this.#busy.delete(id);
    }
  }

  #keep({ name, origin }: MissingBlob, bytes: Uint8Array | null, from: HubId): boolean {
    const { blobs, drops } = this.#parts;
    const blob = bytes && blobOf(bytes);
    const isWanted = blob?.sha256.startsWith(name);
    if (blob && isWanted && blobs.add(blob, origin)) return true;
    if (blob) drops.count(isWanted ? 'out_of_memory' : 'wrong_blob');
    this.#rest(`${name} ${from}`);
    return false;
  }

  #rest(key: string): void {
    const waitMs = Math.min(LAST_RETRY_MS, 2 * (this.#refused.get(key)?.waitMs ?? FIRST_RETRY_MS / 2));
    this.#refused.set(key, { untilMs: this.#parts.clock.monotonic() + waitMs, waitMs });
  }

  #nextRetryMs(): number {
    const nowMs = this.#parts.clock.monotonic();
    let next = LAST_RETRY_MS;
    for (const { untilMs } of this.#refused.values()) if (untilMs > nowMs) next = Math.min(next, untilMs - nowMs);
    return next;
  }

  #answer({ from, body }: IncomingRequest): Uint8Array {
    if (!this.#asked.tryTake(from)) throw new AtmoError('RATE_LIMITED', 'Definitions were asked for too often; ask again in a second');
    let bytes = 0;
    const blobs = blobRequestCodec.decode(body).hashes.map((name) => {
      const blob = this.#parts.blobs.get(name) ?? null;
      bytes += blob?.length ?? 0;
      return bytes <= MAX_ANSWER_BYTES ? blob : null;
    });
    for (let charged = ASKED_BYTES; charged < bytes; charged += ASKED_BYTES) this.#asked.tryTake(from);
    return encodeBlobAnswer({ blobs });
  }
}

function decoded(answer: Uint8Array): readonly (Uint8Array | null)[] {
  try {
    return decodeBlobAnswer(answer).blobs;
  } catch {
    // A neighbour that answers nonsense has nothing.
    return [];
  }
}
