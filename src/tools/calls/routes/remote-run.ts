import { AtmoError, type ErrorCode, toAtmoError } from '../../../core/errors.ts';
import type { Json } from '../../../core/json.ts';
import { isActing } from '../../definition/tool-definition.ts';
import type { Call } from '../call.ts';
import type { CallRouter, ForwardedCall } from '../call-collaborators.ts';
import { routeWish } from './call-route.ts';
import type { RouteCandidate } from './route-score.ts';

/** Errors of a hub that has not let the call through, after which another one may. */
const NEXT_HUB: ReadonlySet<ErrorCode> = new Set(['NODE_UNAVAILABLE', 'SHUTTING_DOWN', 'RESOURCE_EXCEEDED']);
/** What a hub answers that was told to stop. */
const STOPPED: ReadonlySet<ErrorCode> = new Set(['CANCELLED', 'TIMEOUT']);

/** Runs the call on another hub, which checks everything itself. Its errors as they are, with its id in the details. */
export async function runElsewhere(candidate: RouteCandidate, call: Call, router: CallRouter): Promise<Json> {
  let isAccepted = false;
  const onAccept = () => {
    isAccepted = true;
    call.isDispatched = true;
  };
  try {
    const { result, nodeId, hops } = await router.forward(candidate.id, { ...forwarded(call), onAccept });
    call.isDispatched = true;
    call.ranOn = { ...candidate, id: nodeId, hops };
    return result;
  } catch (thrown) {
    const error = toAtmoError(thrown);
    if (isAccepted && call.deadline.signal.aborted && STOPPED.has(error.code) && isActing(call.tool.definition))
      throw outcomeUnknown(candidate, call);
    throw withHub(error, candidate);
  }
}

/** Whether the next hub may be tried after this error: never when the call may have taken effect twice then. */
export function failsOver(call: Call, thrown: unknown): boolean {
  const { code, details } = toAtmoError(thrown);
  if (call.deadline.signal.aborted) return false;
  // A hub on the way says so and nobody has signed it: if that is a lie, a call that acts would be made twice.
  if (details.via !== undefined && isActing(call.tool.definition)) return false;
  if (!call.isDispatched) return NEXT_HUB.has(code);
  return call.tool.definition.execution.isIdempotent && (code === 'OUTCOME_UNKNOWN' || code === 'NODE_UNAVAILABLE');
}

function forwarded(call: Call): ForwardedCall {
  const { idempotencyKey, principal, sessionId, version } = call.request;
  return {
    principal,
    tool: call.tool,
    ...(version !== undefined && { versionRange: version }),
    params: call.params,
    requestId: call.requestId,
    traceId: call.traceId,
    ...(sessionId !== undefined && { sessionId }),
    // A job that lives here waits for the other hub's answer.
    mode: call.job ? 'sync' : call.mode,
    deadlineMs: call.deadline.atMs,
    hopBudget: routeWish(call).hop_budget - 1,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    signal: call.deadline.signal,
    onChunk: (chunk) => call.tell(chunk),
  };
}

function outcomeUnknown({ id }: RouteCandidate, call: Call): AtmoError {
  const message = `${call.tool.id} was running on ${id} when this call ended; read the state before calling it again`;
  return new AtmoError('OUTCOME_UNKNOWN', message, { node_id: id });
}

/** Which hub wants the approval, has the device or refused, the caller could not tell otherwise. A bug stays one. */
function withHub(error: AtmoError, { id, name }: RouteCandidate): AtmoError {
  const { code, cause = error } = error;
  if (code !== 'APPROVAL_REQUIRED') return new AtmoError(code, error.message, { node_id: id, ...error.details }, { cause });
  // Whatever it says: a command line that took it for the own hub's would have the owner approve there.
  const details = { ...error.details, node_id: id, node_name: name };
  return new AtmoError(code, `${error.message}, by people of the hub ${name}`, details, { cause });
}
