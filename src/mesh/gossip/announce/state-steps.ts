import { AtmoError } from '../../../core/errors.ts';
import { type HubState, stateDigest } from '../../../wire/messages/announced-state.ts';
import { assemble } from '../../../wire/messages/announcement-pages.ts';
import { applyChanges } from '../../../wire/messages/state-changes.ts';
import type { DropReason } from '../drop-counter.ts';
import type { DeltaAnnouncement, FullAnnouncement } from './announcement-chain.ts';

/** How announcements become the state of their hub. States are never changed: directories may share them. */
export interface StateSteps {
  /** The state that is announced; undefined while pages of it are missing, a reason when they do not make it. */
  first(full: FullAnnouncement, pageOf: (hash: string) => Uint8Array | undefined): HubState | DropReason | undefined;
  /** The state after the changes, or why they do not lead to the one that the origin speaks of. */
  next(state: HubState, delta: DeltaAnnouncement): HubState | DropReason;
}

/** Each state is put together, and held against the digest that its origin signed. */
export const STATE_STEPS: StateSteps = {
  first: ({ state, digest }, pageOf) => checked(digest, () => assemble(state, pageOf)),
  next: (state, { changes, digest }) => checked(digest, () => applyChanges(state, changes)) ?? 'wrong_digest',
};

function checked(digest: string, make: () => HubState | undefined): HubState | DropReason | undefined {
  try {
    const state = make();
    return state && stateDigest(state) !== digest ? 'wrong_digest' : state;
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'VALIDATION_ERROR') return 'malformed';
    throw error;
  }
}
