import { type ApprovalKind, type ApprovalWaitChoices, type ApprovalWaits, WAIT_KINDS } from '../../core/auth/approvals.ts';
import type { HubContext } from '../../core/context.ts';
import { isJsonObject, type Json } from '../../core/json.ts';

const SPACE = 'approvals.waits';
const KEY = 'chosen';
/** Longest wait of requests about locks, valves and garage doors. Nobody should open a door for a question that is hours old. */
const GUARDED_WAIT_MS = 10 * 60_000;

/** Stores how long the owner wants requests to wait. What was not chosen is as the configuration says. */
export class ApprovalWaitSettings implements ApprovalWaitChoices {
  readonly #store: HubContext['store'];
  readonly configured: ApprovalWaits;

  constructor(store: HubContext['store'], configured: ApprovalWaits) {
    this.#store = store;
    this.configured = configured;
  }

  current(): ApprovalWaits {
    return { ...this.configured, ...this.#chosen() };
  }

  choose(waits: Partial<ApprovalWaits>): void {
    this.#store.set(SPACE, KEY, waits as Json);
  }

  #chosen(): Partial<ApprovalWaits> {
    const stored = this.#store.get(SPACE, KEY);
    if (!isJsonObject(stored)) return {};
    const kinds = WAIT_KINDS.filter((kind) => typeof stored[kind] === 'number');
    return Object.fromEntries(kinds.map((kind) => [kind, stored[kind]]));
  }
}

/** Returns the milliseconds for which a request may wait. */
export function waitMsFor(kinds: readonly ApprovalKind[], waits: ApprovalWaits): number {
  return Math.min(...kinds.map((kind) => (kind === 'guarded' ? Math.min(GUARDED_WAIT_MS, waits.devices) : waits[kind])));
}
