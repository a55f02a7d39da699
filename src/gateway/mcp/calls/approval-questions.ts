import { AtmoError, type ErrorBody } from '../../../core/errors.ts';
import { spelledOut } from '../../../core/foreign-text.ts';
import { isJsonObject, type JsonObject } from '../../../core/json.ts';
import type { Clock } from '../../../core/time/clock.ts';
import { maskSecrets } from '../../../tools/schema/secret-params.ts';
import type { McpCaller } from '../mcp-feature.ts';
import { elicitation, showsForms } from './elicitation.ts';
import { RequestStates, type StateSubject } from './request-states.ts';
import type { ToolRun } from './tool-run.ts';

const KEY = 'approval';
const MAX_LINES = 20;
const MAX_TEXT = 1_000;
type Call = Pick<ToolRun, 'tool' | 'params'>;

/**
 * Asks the person at the client to see to the approval of a dangerous call: an `input_required` result (2026-07-28), which
 * sessions get as an elicitation. What the client answers approves nothing: it only makes the call again, and the approval
 * itself is a signature that is given elsewhere (docs/approvals.md).
 */
export class ApprovalQuestions {
  readonly #states: RequestStates;

  constructor({ clock }: { readonly clock: Clock }) {
    this.#states = new RequestStates({ clock, purpose: 'approval' });
  }

  /** What a client with elicitation gets in the place of APPROVAL_REQUIRED; undefined for all else. It is asked once per call. */
  ask(error: ErrorBody, call: Call, caller: McpCaller): JsonObject | undefined {
    if (error.code !== 'APPROVAL_REQUIRED' || caller.requestState !== undefined || !showsForms(caller.clientCapabilities)) return undefined;
    const question = { message: messageOf(error, call, caller), schema: { type: 'object', properties: {} } };
    return {
      resultType: 'input_required',
      inputRequests: { [KEY]: elicitation(question) },
      requestState: this.#states.issue(subjectOf(call, caller)).state,
    };
  }

  /**
   * Looks at the answer to a question, where a call brings one. VALIDATION_ERROR for a state that is forged, of another
   * caller or call, used before, or too old; CANCELLED where the person did not want to go on.
   */
  admit(call: Call, caller: McpCaller): void {
    const { requestState: state, inputResponses } = caller;
    if (state === undefined) return;
    this.#states.redeem(state, subjectOf(call, caller));
    const answer = inputResponses[KEY];
    if (isJsonObject(answer) && answer.action === 'accept') return;
    throw new AtmoError(
      'CANCELLED',
      'The call was not made: the person at the client did not want to go on. The request for approval stays',
    );
  }
}

function subjectOf({ tool, params }: Call, { principal }: McpCaller): StateSubject {
  return { name: tool.id, params, principal };
}

/** The error with the way to an approval in words, for models that have to tell a person. */
export function withWayOut(error: ErrorBody): ErrorBody {
  if (error.code !== 'APPROVAL_REQUIRED') return error;
  return {
    ...error,
    details: { ...error.details, how: `A person agrees ${wayOf(error)}. Then make the same call again; nothing else approves it.` },
  };
}

function messageOf(error: ErrorBody, call: Call, caller: McpCaller): string {
  const { expires_at: until, will_do: lines } = error.details;
  const end = typeof until === 'string' ? ` It can be approved until ${until}.` : '';
  const work = Array.isArray(lines) ? lines.slice(0, MAX_LINES).map((line) => `\n${foreign(line)}`) : [];
  const more = Array.isArray(lines) && lines.length > MAX_LINES ? `\nand ${lines.length - MAX_LINES} more` : '';
  return `${wantOf(error, call, caller)}.${work.join('')}${more}\nA person has to agree ${wayOf(error)}.${end} Continue here once that is done: this form approves nothing.`;
}

/** As the hub that runs the call says it, which knows the devices; an older one leaves the words to this hub. */
function wantOf({ details: { summary } }: ErrorBody, { tool, params }: Call, { principal }: McpCaller): string {
  if (typeof summary === 'string') return foreign(summary);
  // The title of a tool may hold a name that a device gave itself.
  const title = JSON.stringify(tool.definition.metadata.title.slice(0, 80));
  const given = foreign(JSON.stringify(maskSecrets(tool.definition.parameters, params)));
  return `${principal.id} wants: ${title} (${tool.id}) with ${given}`;
}

/** The words may come from another hub: without signs that nobody sees, and with an end. */
function foreign(text: unknown): string {
  return spelledOut(String(text)).slice(0, MAX_TEXT);
}

function wayOf({ details }: ErrorBody): string {
  const id = String(details.approval_id ?? '');
  const { node_id: hubId, node_name: name = hubId } = details;
  const hub = typeof name === 'string' ? `the hub ${name}` : 'the hub';
  return `on the page of ${hub}, under Approvals, or there with "atmo approve ${id}"`;
}
