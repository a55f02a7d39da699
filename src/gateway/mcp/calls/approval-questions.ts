import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../../core/clock.ts';
import { AtmoError, type ErrorBody } from '../../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../../core/json.ts';
import { principalKey } from '../../../core/principal.ts';
import { canonicalJson } from '../../../wire/canonical-json.ts';
import { sha256Hex } from '../../../wire/hashes.ts';
import type { McpCaller } from '../mcp-feature.ts';
import type { ToolRun } from './tool-run.ts';

const KEY = 'approval';
/** A question is answered within this time, or the tool is called anew. */
const STATE_MS = 10 * 60_000;
/** As many questions as may be open; beyond, the oldest counts as answered. */
const MAX_OPEN = 4_096;
const MAC_BYTES = 32;
const NONCE_BYTES = 16;

type Call = Pick<ToolRun, 'tool' | 'params'>;

/**
 * Asks the person at the client to see to the approval of a dangerous call: an `input_required` result (2026-07-28), which
 * sessions get as an elicitation. What the client answers approves nothing: it only makes the call again, and the approval
 * itself is a signature that is given elsewhere (docs/approvals.md).
 */
export class ApprovalQuestions {
  readonly #clock: Clock;
  /** States of another start count for nothing. */
  readonly #key = randomBytes(MAC_BYTES);
  /** Nonces of questions that wait for their answer, with the time at which they end; the oldest first. */
  readonly #open = new Map<string, number>();

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  /** What a client with elicitation gets in the place of APPROVAL_REQUIRED; undefined for all else. It is asked once per call. */
  ask(error: ErrorBody, call: Call, caller: McpCaller): JsonObject | undefined {
    if (error.code !== 'APPROVAL_REQUIRED' || caller.requestState !== undefined || !showsForms(caller.clientCapabilities)) return undefined;
    const params = { mode: 'form', message: messageOf(error, call), requestedSchema: { type: 'object', properties: {} } };
    return {
      resultType: 'input_required',
      inputRequests: { [KEY]: { method: 'elicitation/create', params } },
      requestState: this.#stateFor(call, caller),
    };
  }

  /**
   * Looks at the answer to a question, where a call brings one. VALIDATION_ERROR for a state that is forged, of another
   * caller or call, used before, or too old; CANCELLED where the person did not want to go on.
   */
  admit(call: Call, caller: McpCaller): void {
    const { requestState: state, inputResponses } = caller;
    if (state === undefined) return;
    this.#redeem(state, call, caller);
    const answer = inputResponses[KEY];
    if (isJsonObject(answer) && answer.action === 'accept') return;
    throw new AtmoError(
      'CANCELLED',
      'The call was not made: the person at the client did not want to go on. The request for approval stays',
    );
  }

  #stateFor(call: Call, caller: McpCaller): string {
    const nonce = randomBytes(NONCE_BYTES).toString('base64url');
    const endsMs = this.#clock.now() + STATE_MS;
    this.#remember(nonce, endsMs);
    return `${nonce}.${endsMs}.${this.#macOf(`${nonce}.${endsMs}`, call, caller).toString('base64url')}`;
  }

  #remember(nonce: string, endsMs: number): void {
    for (const [other, otherEndsMs] of this.#open) {
      if (otherEndsMs > this.#clock.now() && this.#open.size < MAX_OPEN) break;
      this.#open.delete(other);
    }
    this.#open.set(nonce, endsMs);
  }

  #redeem(state: string, call: Call, caller: McpCaller): void {
    const [nonce = '', endsMs = '', mac = ''] = state.slice(0, 256).split('.');
    const given = Buffer.from(mac, 'base64url');
    const wanted = this.#macOf(`${nonce}.${endsMs}`, call, caller);
    const isOurs = given.length === wanted.length && timingSafeEqual(given, wanted);
    // Deleted when it is looked at: a state serves once, whatever becomes of the call.
    if (isOurs && this.#open.delete(nonce) && Number(endsMs) > this.#clock.now()) return;
    throw new AtmoError(
      'VALIDATION_ERROR',
      'requestState does not belong to this call, was used before, or is too old; make the call without it',
    );
  }

  #macOf(head: string, { tool, params }: Call, { principal }: McpCaller): Buffer {
    const bound = canonicalJson({ head, principal: principalKey(principal), tool: tool.id, params: sha256Hex(canonicalJson(params)) });
    return createHmac('sha256', this.#key).update(bound).digest();
  }
}

/** The error with the way to an approval in words, for models that have to tell a person. */
export function withWayOut(error: ErrorBody): ErrorBody {
  if (error.code !== 'APPROVAL_REQUIRED') return error;
  return {
    ...error,
    details: { ...error.details, how: `A person agrees ${wayOf(error)}. Then make the same call again; nothing else approves it.` },
  };
}

function messageOf(error: ErrorBody, { tool }: Call): string {
  const { expires_at: until } = error.details;
  const end = typeof until === 'string' ? ` It can be approved until ${until}.` : '';
  // The title of a tool may hold a name that a device gave itself.
  const title = JSON.stringify(tool.definition.metadata.title.slice(0, 80));
  return `The agent asks for ${title} (${tool.id}), which is dangerous. A person has to agree ${wayOf(error)}.${end} Continue here once that is done: this form approves nothing.`;
}

function wayOf({ details }: ErrorBody): string {
  const id = String(details.approval_id ?? '');
  const hub = typeof details.node_id === 'string' ? ` --hub ${details.node_id}` : '';
  return `on the page of the hub, under Approvals, or with "atmo approve ${id}${hub}"`;
}

/** Clients that say nothing of modes show forms (2025-11-25 and before). */
function showsForms({ elicitation }: JsonObject): boolean {
  return isJsonObject(elicitation) && (isJsonObject(elicitation.form) || Object.keys(elicitation).length === 0);
}
