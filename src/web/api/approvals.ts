import type { ApprovalStatement } from '../../codec/approval-payload.ts';
import type { ApprovalDecision } from '../../core/auth/approvals.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { text } from '../texts/text.ts';
import { type HubClient, HubError } from './hub-client.ts';
import type { ApprovalView, EventView } from './hub-types.ts';
import { Observable } from './observable.ts';
import type { Login } from './session.ts';

/** A call from this page that waits for approval. */
export interface PendingCall {
  readonly approvalId: string;
  readonly tool: string;
  readonly params: JsonObject;
  /** The action in words, such as `Unlock Front door`. */
  readonly label: string;
  readonly expiresAt: string;
  /** The program or the steps that the tool will run. */
  readonly willDo: readonly string[];
}

/** The outcome of a call from this page that had to wait for approval. */
export interface CallOutcome {
  readonly call: PendingCall;
  readonly result?: Json;
  readonly error?: unknown;
}

/** Stores the calls from this page that wait for approval. When a call is approved, repeats it once with the same arguments. */
export class PendingCalls extends Observable {
  readonly #hub: Pick<HubClient, 'invoke'>;
  readonly #calls = new Map<string, PendingCall>();
  readonly #listeners = new Set<(end: CallOutcome) => void>();

  constructor(hub: Pick<HubClient, 'invoke'>) {
    super();
    this.#hub = hub;
  }

  /** Calls `listener` with the outcome of each call. Returns a function that removes the listener. */
  onEnd(listener: (end: CallOutcome) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get all(): readonly PendingCall[] {
    return [...this.#calls.values()];
  }

  /** If the error says that a call waits for approval, stores the call and returns true. Otherwise returns false. */
  track(error: unknown, call: Pick<PendingCall, 'tool' | 'params' | 'label'>): boolean {
    if (!(error instanceof HubError) || error.code !== 'APPROVAL_REQUIRED') return false;
    const { approval_id: approvalId, expires_at: expiresAt, will_do: lines } = error.details;
    if (typeof approvalId !== 'string' || typeof expiresAt !== 'string') return false;
    const willDo = Array.isArray(lines) ? lines.filter((line) => typeof line === 'string') : [];
    this.#calls.set(approvalId, { ...call, approvalId, expiresAt, willDo });
    this.changed();
    return true;
  }

  /** Handles the decision about a stored call. */
  handleEvent({ type, subject, data }: EventView): void {
    if (type === 'approval.decided') this.#decided(subject, data.state);
  }

  /** Handles the decisions in a list of requests: while the page was away, for example asleep, it missed the events about them. */
  compare(approvals: readonly Pick<ApprovalView, 'approval_id' | 'state'>[]): void {
    if (this.#calls.size === 0) return;
    for (const { approval_id: id, state } of approvals) this.#decided(id, state);
  }

  clear(): void {
    this.#calls.clear();
    this.changed();
  }

  /** Repeats an approved call. Reports a denied or expired call to the listeners as an error. */
  #decided(approvalId: string, state: Json | undefined): void {
    const call = this.#calls.get(approvalId);
    // If two persons must approve, the request is still pending after the first approval.
    if (!call || state === 'pending') return;
    this.#calls.delete(approvalId);
    this.changed();
    if (state === 'approved') void this.#run(call);
    // A call that was used has been made already, for example in another tab.
    else if (state !== 'used') this.#emit({ call, error: refusal(call, state === 'expired') });
  }

  async #run(call: PendingCall): Promise<void> {
    try {
      this.#emit({ call, result: await this.#hub.invoke(call.tool, call.params) });
    } catch (error) {
      this.#emit({ call, error });
    }
  }

  #emit(end: CallOutcome): void {
    for (const listener of this.#listeners) listener(end);
  }
}

function refusal({ label }: PendingCall, isLate: boolean): HubError {
  return new HubError('PERMISSION_DENIED', text(isLate ? 'approvals.ended_expired' : 'approvals.ended_denied', { label }));
}

/** Returns whether this login can sign decisions. */
export function canSignDecisions(login: Login | undefined): boolean {
  return (login?.key !== undefined || login?.passkey !== undefined) && login.person !== undefined;
}

/** Signs a person's answer to a request and sends it to the hub. */
export async function submitDecision(
  hub: HubClient,
  approval: ApprovalView,
  { decision, login }: { readonly decision: ApprovalDecision; readonly login: Login | undefined },
): Promise<void> {
  const { person, key, passkey } = login ?? {};
  if (person === undefined || (key === undefined && passkey === undefined)) {
    throw new HubError('PERMISSION_DENIED', text('approvals.no_own_key'));
  }
  const { approval_id, call_hash, expires_at, hub: runsOn, tool } = approval;
  const statement = { approval_id, decision, tool, call_hash, hub: runsOn, expires_at, person };
  const signature = await signatureOf(hub, statement, login ?? {});
  await hub.post(`/api/v1/approvals/${encodeURIComponent(approval_id)}`, { decision, person, signature });
}

/** Signs with the passkey if there is one, and otherwise with the key. Most visits need neither code, so it is imported only here. */
async function signatureOf(hub: HubClient, statement: ApprovalStatement, { key, passkey }: Partial<Login>): Promise<string> {
  if (passkey) return (await hub.part(() => import('./passkey.ts'))).signWithPasskey(statement, passkey);
  const { signApproval } = await hub.part(() => import('./approval-signature.ts'));
  return signApproval(statement, key ?? '');
}
