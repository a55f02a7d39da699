import type { HubState } from '../../src/codec/messages/announced-state.ts';
import {
  type DeltaAnnouncement,
  type FullAnnouncement,
  STATE_TRANSITIONS,
  type StateTransitions,
} from '../../src/mesh/gossip/hub-record.ts';

/** Comes to the states of hubs for all directories of one process: each state is made and checked once, and shared. */
export class SharedStates implements StateTransitions {
  readonly #first = new WeakMap<FullAnnouncement, HubState>();
  readonly #next = new WeakMap<DeltaAnnouncement, { readonly before: HubState; readonly after: HubState }>();

  first(full: FullAnnouncement, pageOf: (hash: string) => Uint8Array | undefined): ReturnType<StateTransitions['first']> {
    const known = this.#first.get(full);
    if (known) return known;
    const state = STATE_TRANSITIONS.first(full, pageOf);
    if (typeof state === 'object') this.#first.set(full, state);
    return state;
  }

  next(before: HubState, delta: DeltaAnnouncement): ReturnType<StateTransitions['next']> {
    const known = this.#next.get(delta);
    if (known?.before === before) return known.after;
    const after = STATE_TRANSITIONS.next(before, delta);
    if (typeof after === 'object') this.#next.set(delta, { before, after });
    return after;
  }
}
