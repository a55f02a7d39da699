import type { HubId } from '../../../core/ids.ts';
import type { Clock } from '../../../core/time/clock.ts';
import type { MeshEngine } from '../../engine/mesh-engine.ts';
import { FULL_MESH_MEMBERS } from './neighbour-choice.ts';

const KEEP_ASKED_MS = 300_000;
const KEEP_SPARE_MS = 60_000;

/** Ends connections that a large mesh does not need: hubs that met before it was large, or for one call. */
export class SparePeers {
  readonly #clock: Clock;
  readonly #engine: Pick<MeshEngine, 'id' | 'peers' | 'disconnect'>;
  readonly #askedMs = new Map<HubId, number>();
  readonly #spareSinceMs = new Map<HubId, number>();

  constructor(clock: Clock, engine: Pick<MeshEngine, 'id' | 'peers' | 'disconnect'>) {
    this.#clock = clock;
    this.#engine = engine;
  }

  /** A call wants the hub: its connection stays for five minutes. */
  ask(id: HubId): void {
    this.#askedMs.set(id, this.#clock.monotonic());
  }

  isAsked(id: HubId): boolean {
    return this.#clock.monotonic() - (this.#askedMs.get(id) ?? Number.NEGATIVE_INFINITY) < KEEP_ASKED_MS;
  }

  /** Ends what has been spare for a minute. The hub with the lower id decides: the other one may know fewer members yet. */
  prune(wanted: ReadonlySet<HubId>, memberCount: number): void {
    const peers = this.#engine.peers().map(({ id }) => id);
    const spare = new Set(memberCount < FULL_MESH_MEMBERS ? [] : peers.filter((id) => !wanted.has(id) && !this.isAsked(id)));
    for (const id of this.#spareSinceMs.keys()) if (!spare.has(id)) this.#spareSinceMs.delete(id);
    for (const id of this.#askedMs.keys()) if (!this.isAsked(id)) this.#askedMs.delete(id);
    for (const id of spare) {
      const sinceMs = this.#spareSinceMs.get(id) ?? this.#clock.monotonic();
      this.#spareSinceMs.set(id, sinceMs);
      if (this.#engine.id < id && this.#clock.monotonic() - sinceMs >= KEEP_SPARE_MS) void this.#engine.disconnect(id);
    }
  }
}
