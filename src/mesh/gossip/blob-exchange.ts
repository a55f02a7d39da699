import { blobRequestCodec, decodeBlobAnswer, encodeBlobAnswer } from '../../codec/messages/sync.ts';
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
  readonly onArrived: () => void;
}

/** Maximum number of blobs in a request. */
const MAX_BATCH = 128;
const MAX_ANSWER_BYTES = 2_097_152;
/** Delay of a request in milliseconds, so that one request covers the blobs of several announcements. */
const GATHER_MS = 5;
/** First and longest pause, in milliseconds, before this hub asks a neighbour again for a blob that the neighbour did not deliver. */
const FIRST_RETRY_MS = 20;
const LAST_RETRY_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;
/** Rate limit for one neighbour's requests. A request takes a token for every 64 KiB of its response, because long responses are costly. */
const REQUEST_RATE = { burst: 512, perSecond: 16 };
const BYTES_PER_TOKEN = 65_536;

interface MissingBlob {
  readonly name: string;
  readonly origin: HubId;
}

/** Fetches the definitions and pages whose hashes are in announcements. Serves definitions and pages to other hubs. */
export class BlobExchange implements Service {
  readonly #parts: ExchangeCollaborators;
  readonly #rateLimit: KeyedRateLimit;
  readonly #busy = new Set<HubId>();
  /** Pauses after failed requests, by blob name and neighbour. `untilMs`: end by the monotonic clock. `waitMs`: length. */
  readonly #refused = new Map<string, { readonly untilMs: number; readonly waitMs: number }>();
  readonly #wakeup: CoalescingTimer;
  #listening: (() => void)[] = [];

  constructor(parts: ExchangeCollaborators) {
    this.#parts = parts;
    this.#rateLimit = new KeyedRateLimit(parts.clock, REQUEST_RATE);
    this.#wakeup = new CoalescingTimer(parts.clock, () => this.#fetch());
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

  /** Deletes blobs that are not in `used`, and requests missing ones. Must be called periodically, because no event reports a lost blob. */
  sweep(used: ReadonlySet<string>): void {
    const expiredMs = this.#parts.clock.monotonic() - LAST_RETRY_MS;
    this.#parts.blobs.retain(used);
    for (const [key, { untilMs }] of this.#refused) if (untilMs <= expiredMs) this.#refused.delete(key);
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
    for (const [link, batch] of batches) void this.#fetchFrom(link, batch);
    if (missing.size > 0) this.#wakeup.within(this.#nextRetryMs());
  }

  /**
   * Returns the link over which to request a blob: the link to the hub that announces it, or undefined while a request to that hub runs. If
   * that hub is no neighbour or has just failed to deliver the blob, returns the link to another free neighbour.
   */
  #sourceOf(name: string, origin: HubId): PeerLink | undefined {
    const { links, clock } = this.#parts;
    const hasRefused = ({ peer }: PeerLink) => (this.#refused.get(`${name} ${peer.id}`)?.untilMs ?? 0) > clock.monotonic();
    const isFree = ({ peer }: PeerLink) => !this.#busy.has(peer.id);
    const direct = links.to(origin);
    if (direct && !hasRefused(direct)) return isFree(direct) ? direct : undefined;
    return links.links().find((link) => isFree(link) && !hasRefused(link));
  }

  async #fetchFrom(link: PeerLink, batch: readonly MissingBlob[]): Promise<void> {
    const { clock, directory, onArrived } = this.#parts;
    const { id } = link.peer;
    this.#busy.add(id);
    const blobs = await requestWithin(clock, REQUEST_TIMEOUT_MS, async (signal) => {
      const body = blobRequestCodec.encode({ hashes: batch.map(({ name }) => name) });
      return decodeBlobAnswer(await link.request('blobs', body, { signal })).blobs;
    }).finally(() => this.#busy.delete(id));
    if (this.#listening.length === 0) return;
    const stored = batch.filter((missing, index) => this.#store(missing, blobs?.[index] ?? null, id));
    this.#wakeup.within(GATHER_MS);
    if (stored.length === 0) return;
    directory.assemble();
    onArrived();
  }

  #store({ name, origin }: MissingBlob, bytes: Uint8Array | null, from: HubId): boolean {
    const { blobs, drops, clock } = this.#parts;
    const blob = bytes && blobOf(bytes);
    const isRequested = blob?.sha256.startsWith(name);
    if (blob && isRequested && blobs.add(blob, origin)) return true;
    if (blob) drops.count(isRequested ? 'out_of_memory' : 'wrong_blob');
    const key = `${name} ${from}`;
    const waitMs = Math.min(LAST_RETRY_MS, 2 * (this.#refused.get(key)?.waitMs ?? FIRST_RETRY_MS / 2));
    this.#refused.set(key, { untilMs: clock.monotonic() + waitMs, waitMs });
    return false;
  }

  #nextRetryMs(): number {
    const nowMs = this.#parts.clock.monotonic();
    let next = LAST_RETRY_MS;
    for (const { untilMs } of this.#refused.values()) if (untilMs > nowMs) next = Math.min(next, untilMs - nowMs);
    return next;
  }

  #answer({ from, body }: IncomingRequest): Uint8Array {
    if (!this.#rateLimit.tryTake(from))
      throw new AtmoError('RATE_LIMITED', 'The requests for definitions are too frequent; try again in a second');
    let bytes = 0;
    const blobs = blobRequestCodec.decode(body).hashes.map((name) => {
      const blob = this.#parts.blobs.get(name) ?? null;
      bytes += blob?.length ?? 0;
      return bytes <= MAX_ANSWER_BYTES ? blob : null;
    });
    for (let charged = BYTES_PER_TOKEN; charged < bytes; charged += BYTES_PER_TOKEN) this.#rateLimit.tryTake(from);
    return encodeBlobAnswer({ blobs });
  }
}
