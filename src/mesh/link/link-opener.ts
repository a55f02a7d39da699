import type { HubId } from '../../core/ids.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { MeshEngine, MeshStream } from '../engine/mesh-engine.ts';

/** How long the hub with the higher id waits for the other one to open the stream. */
const THEIR_TURN_MS = 1_000;
const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 30_000;
/** A link that lived so long ended for a new reason: trying again starts quickly. */
const GOOD_LIFE_MS = 60_000;

interface OpenerCollaborators {
  readonly engine: MeshEngine;
  readonly clock: Clock;
  readonly protocol: string;
  readonly onOpen: (stream: MeshStream) => void;
}

interface Wanted {
  readonly controller: AbortController;
  isOpening: boolean;
  retryMs: number;
  /** When there was a link, by the monotonic clock. */
  sinceMs: number;
  cancel: () => void;
}

/** Opens the control stream to connected hubs, again and again while there is none. */
export class LinkOpener {
  readonly #collaborators: OpenerCollaborators;
  readonly #wanted = new Map<HubId, Wanted>();

  constructor(collaborators: OpenerCollaborators) {
    this.#collaborators = collaborators;
  }

  /** The hub is connected. */
  want(id: HubId): void {
    if (this.#wanted.has(id)) return;
    const wanted: Wanted = { controller: new AbortController(), isOpening: false, retryMs: FIRST_RETRY_MS, sinceMs: 0, cancel: () => {} };
    this.#wanted.set(id, wanted);
    if (this.#collaborators.engine.id < id) void this.#open(id, wanted);
    else this.#later(id, THEIR_TURN_MS);
  }

  isOpening(id: HubId): boolean {
    return this.#wanted.get(id)?.isOpening ?? false;
  }

  /** There is a link, whoever opened it. */
  has(id: HubId): void {
    this.want(id);
    const wanted = this.#wanted.get(id);
    wanted?.cancel();
    if (wanted) wanted.sinceMs = this.#collaborators.clock.monotonic();
  }

  /** The link ended, the connection did not. */
  again(id: HubId): void {
    const wanted = this.#wanted.get(id);
    if (!wanted) return;
    const livedMs = this.#collaborators.clock.monotonic() - wanted.sinceMs;
    if (livedMs >= GOOD_LIFE_MS) wanted.retryMs = FIRST_RETRY_MS;
    this.#retry(id, wanted);
  }

  forget(id: HubId): void {
    const wanted = this.#wanted.get(id);
    this.#wanted.delete(id);
    wanted?.cancel();
    wanted?.controller.abort();
  }

  stop(): void {
    for (const id of [...this.#wanted.keys()]) this.forget(id);
  }

  #retry(id: HubId, wanted: Wanted): void {
    const theirTurnMs = this.#collaborators.engine.id < id ? 0 : THEIR_TURN_MS;
    this.#later(id, wanted.retryMs + theirTurnMs);
    wanted.retryMs = Math.min(MAX_RETRY_MS, wanted.retryMs * 2);
  }

  #later(id: HubId, delayMs: number): void {
    const wanted = this.#wanted.get(id);
    if (!wanted) return;
    wanted.cancel();
    wanted.cancel = this.#collaborators.clock.after(delayMs, () => void this.#open(id, wanted));
  }

  async #open(id: HubId, wanted: Wanted): Promise<void> {
    const { engine, protocol, onOpen } = this.#collaborators;
    if (wanted.isOpening) return;
    wanted.isOpening = true;
    try {
      const stream = await engine.openStream(id, protocol, { signal: wanted.controller.signal });
      wanted.isOpening = false;
      onOpen(stream);
    } catch {
      wanted.isOpening = false;
      // Nobody is there, or it does not know the protocol yet: the engine has counted it.
      if (this.#wanted.get(id) === wanted) this.#retry(id, wanted);
    }
  }
}
