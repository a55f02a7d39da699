import type { DeltaAnnouncement, FullAnnouncement } from '../../src/mesh/gossip/announce/announcement-chain.ts';
import { STATE_STEPS, type StateSteps } from '../../src/mesh/gossip/announce/state-steps.ts';
import type { HubState } from '../../src/wire/messages/announced-state.ts';

/** Comes to the states of hubs for all directories of one process: each state is made and checked once, and shared. */
export class SharedStates implements StateSteps {
  readonly #first = new WeakMap<FullAnnouncement, HubState>();
  readonly #next = new WeakMap<DeltaAnnouncement, { readonly before: HubState; readonly after: HubState }>();

  first(full: FullAnnouncement, pageOf: (hash: string) => Uint8Array | undefined): ReturnType<StateSteps['first']> {
    const known = this.#first.get(full);
    if (known) return known;
    const state = STATE_STEPS.first(full, pageOf);
    if (typeof state === 'object') this.#first.set(full, state);
    return state;
  }

  next(before: HubState, delta: DeltaAnnouncement): ReturnType<StateSteps['next']> {
    const known = this.#next.get(delta);
    if (known?.before === before) return known.after;
    const after = STATE_STEPS.next(before, delta);
    if (typeof after === 'object') this.#next.set(delta, { before, after });
    return after;
  }
}
