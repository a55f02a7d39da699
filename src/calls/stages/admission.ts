import { principalKey } from '../../core/auth/principal.ts';
import { orAborted } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { isActing } from '../../tools/definition/tool-definition.ts';
import { callerView, canSeeTool } from '../../tools/definition/tool-permissions.ts';
import { copyJsonObject, LARGE_PARAMS_LIMITS } from '../../tools/schema/plain-json.ts';
import {
  type AcceptedCall,
  type AuthorizedCall,
  type CanonicalCall,
  type ClaimedCall,
  callHash,
  type DiscoverableCall,
  type EnabledCall,
  isElsewhere,
  type OpenCall,
  type Purpose,
  type RateCheckedCall,
  type ReadCall,
  type ReceivedCall,
  type RepeatedCall,
  type ResolvedCall,
  type SupportedCall,
  type ValidatedCall,
  type ValidCall,
} from '../call.ts';
import { waitForAtMost } from '../call-deadline.ts';
import type { StageContext, ToolLookup } from '../pipeline-context.ts';
import { maxForwardedBytes } from '../routing/call-route.ts';
import { redirectToDeviceHub } from '../routing/remote-device.ts';
import { checkFeatures, checkStaticPermissions, isOffered, memoizedAuthorizer, refuseDisabledTools } from './authorization.ts';

const MAX_PARAMS_DEPTH = 32;

/** Throws SHUTTING_DOWN if the hub is stopping. */
export function refuseWhileDraining(call: ReceivedCall, context: StageContext): OpenCall {
  const { within } = call.request;
  // A stopping hub waits for running calls, and therefore accepts their inner calls.
  if (!context.isDraining() || (within && context.running.has(within))) return call as OpenCall;
  throw new AtmoError('SHUTTING_DOWN', 'The hub is stopping and takes no new calls; try again when it is back');
}

/** Throws RESOURCE_EXCEEDED if almost no memory is free. */
export function refuseWhileMemoryIsShort(call: OpenCall, context: StageContext): AcceptedCall {
  context.memory.check();
  return call as AcceptedCall;
}

/** Throws RATE_LIMITED if the caller or its session has made too many calls. */
export function chargeRateLimit(call: ValidCall, context: StageContext): RateCheckedCall<'charged'> {
  const { principal, sessionId } = call.request;
  context.rateLimiter.charge(principal);
  context.sessions.charge(principal, sessionId);
  return call as RateCheckedCall<'charged'>;
}

/** Returns the call without charging the rate limits, because a call that is only checked can never run. */
export function skipRateLimit(call: ValidCall): RateCheckedCall<'asked'> {
  return call as RateCheckedCall<'asked'>;
}

/** If the tool's name is unknown, waits until the tools of other hubs are loaded, because another hub may have the tool. */
export function awaitRemoteTools<P extends Purpose>(
  call: RateCheckedCall<P>,
  context: StageContext,
): DiscoverableCall<P> | Promise<DiscoverableCall<P>> {
  const ready = call as DiscoverableCall<P>;
  const known = context.tools.awaitComplete(call.request.tool, lookupOf(call, context));
  return known ? waitForAtMost(call.request, context.clock, known).then(() => ready) : ready;
}

function lookupOf({ request: { version, principal, routing } }: ValidCall, context: StageContext): ToolLookup {
  const { features, disabledTools } = context;
  // Only a name that is not known needs the list, which has hundreds of tools with few different permissions.
  const listing = { authorizer: memoizedAuthorizer(context.authorizer), features, disabledTools };
  return {
    ...(version !== undefined && { versionRange: version }),
    ...(routing?.only_nodes && { onlyNodes: routing.only_nodes }),
    isVisible: (candidate) => canSeeTool(candidate, principal, context.authorizer),
    isListed: (candidate) => isOffered(candidate, principal, listing),
  };
}

/** Finds the tool that the name denotes for the caller. Starts the call's time limit. */
export function resolveTool<P extends Purpose>(call: DiscoverableCall<P>, context: StageContext): ResolvedCall<P> {
  const { tool: name, timeoutMs, signal } = call.request;
  const tool = context.tools.resolve(name, lookupOf(call, context));
  if (timeoutMs !== undefined && !(timeoutMs > 0))
    throw new AtmoError('VALIDATION_ERROR', 'The timeout has to be a number of milliseconds above 0');
  call.running.startDeadline(tool, context, signal);
  return { ...call, tool } as ResolvedCall<P>;
}

/** Throws NOT_SUPPORTED if the call wants partial results or a job and the tool does not support that. */
export function refuseUnsupportedMode<P extends Purpose>(call: ResolvedCall<P>): SupportedCall<P> {
  const { id, definition } = call.tool;
  if (call.request.wantsChunks && !definition.execution.isStreamSupported) {
    throw new AtmoError('NOT_SUPPORTED', `The tool ${id} has no partial results; call it without stream`);
  }
  if (call.running.mode === 'job' && !definition.execution.isAsyncAllowed) {
    throw new AtmoError('NOT_SUPPORTED', `The tool ${id} does not run as a job; call it without async`);
  }
  return call as SupportedCall<P>;
}

/** Returns the call with a copy of the parameters. From this stage on, secret parameters are known and are removed from errors. */
export function readParameters<P extends Purpose>(call: EnabledCall<P>, context: StageContext): ReadCall<P> {
  const params = copyJsonObject(call.request.params ?? {}, { maxSize: ownParamsBytes(call, context), maxDepth: MAX_PARAMS_DEPTH });
  return { ...call, params, paramsBytes: Buffer.byteLength(JSON.stringify(params)) } as ReadCall<P>;
}

/**
 * Returns the call with validated parameters and their defaults. Throws PAYLOAD_TOO_LARGE if they are too long, and VALIDATION_ERROR if
 * they are invalid.
 */
export function validateParameters<P extends Purpose>(call: ReadCall<P>, context: StageContext): ValidatedCall<P> {
  const ownBytes = ownParamsBytes(call, context);
  const maxBytes = isElsewhere(call) ? maxForwardedBytes(call.tool, context) : ownBytes;
  if (call.paramsBytes > maxBytes) throw paramsTooLong(maxBytes, isElsewhere(call) && ownBytes > maxBytes);
  const params = context.validator.parameters(call.tool.definition.parameters, call.params, LARGE_PARAMS_LIMITS);
  return { ...call, params } as ValidatedCall<P>;
}

function ownParamsBytes({ tool }: ResolvedCall, { maxParamsBytes }: StageContext): number {
  return tool.definition.execution.maxParamsBytes ?? maxParamsBytes;
}

function paramsTooLong(maxBytes: number, ofMesh: boolean): AtmoError {
  const why = ofMesh ? ', the most that goes to another hub; call the tool at the hub that has it' : '';
  return new AtmoError('PAYLOAD_TOO_LARGE', `The parameters are longer than ${maxBytes} bytes of JSON${why}`, { max_bytes: maxBytes });
}

/** Replaces names in the parameters by canonical ids. If the device is on another hub, changes the call to that hub's tool instead. */
export async function canonicalizeParameters<P extends Purpose>(call: ValidatedCall<P>, context: StageContext): Promise<CanonicalCall<P>> {
  if (!call.tool.canonicalize) return call as CanonicalCall<P>;
  try {
    const params = call.tool.canonicalize(call.params, callerView(call.request.principal, context.authorizer));
    return { ...call, params } as CanonicalCall<P>;
  } catch (error) {
    // The other hub's tool with this id may have another definition, so the checks of the tool are repeated.
    const redirected = call.running.keep(await redirectToDeviceHub(call, context, error));
    const permitted = checkFeatures(checkStaticPermissions(refuseUnsupportedMode(redirected), context), context);
    const read = call.running.keep(readParameters(refuseDisabledTools(permitted, context), context));
    return validateParameters(read, context) as CanonicalCall<P>;
  }
}

/** Claims the idempotency key of `call`. If an earlier call had the key, returns `call` with the earlier call's answer as `repeated`. */
export async function claimIdempotencyKey(call: AuthorizedCall<'charged'>, context: StageContext): Promise<ClaimedCall | RepeatedCall> {
  const { idempotencyKey: key, principal } = call.request;
  const claimed = call as AuthorizedCall as ClaimedCall;
  if (key === undefined) return claimed;
  const hash = `${call.running.mode}:${callHash(call, context.sealSecret)}`;
  const result = context.idempotency.claim({
    principalId: principalKey(principal),
    key,
    callHash: hash,
    isActing: isActing(call.tool.definition),
  });
  if (result.kind === 'repeated') return { ...call, repeated: await orAborted(result.answer, call.running.deadline.signal) };
  call.running.claim = result.claim;
  return claimed;
}
