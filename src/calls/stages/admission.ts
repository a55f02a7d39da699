import { principalKey } from '../../core/auth/principal.ts';
import { orAborted } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { callerView, canSeeTool } from '../../tools/definition/tool-permissions.ts';
import type { RemoteResolveOptions } from '../../tools/registry/tool-directory.ts';
import { copyJsonObject, LARGE_PARAMS_LIMITS } from '../../tools/schema/plain-json.ts';
import type { Call } from '../call.ts';
import { startDeadline, waitForAtMost } from '../call-time-limit.ts';
import { isListed, isOffered, missingFeatures } from '../offered-tools.ts';
import type { StageContext } from '../pipeline-context.ts';
import { maxForwardedBytes } from '../routing/call-route.ts';
import { redirectToDeviceHub } from '../routing/remote-device.ts';
import { authorizeEffects, checkCanAttempt, checkStaticPermissions, requireValidToken } from './authorization.ts';
import { applyRules, peekApproval, requireApproval } from './consent.ts';

const MAX_PARAMS_DEPTH = 32;

/** One step that a call has to pass; it throws AtmoError to refuse. */
export type Stage = (call: Call, context: StageContext) => void | Promise<void>;

const OPENING: readonly Stage[] = [refuseWhileDraining, refuseWhileMemoryIsShort, requireValidToken];
const ABOUT_TOOL: readonly Stage[] = [awaitRemoteTools, resolveTool, checkStaticPermissions, checkFeatures, refuseDisabledTools];
const ABOUT_PARAMETERS: readonly Stage[] = [validateParameters, canonicalizeParameters, authorizeEffects];

/** What is decided before a call may take anything of the hub, in the order of design 4. */
export const ADMISSION_STAGES: readonly Stage[] = [
  ...OPENING,
  chargeRateLimit,
  ...ABOUT_TOOL,
  ...ABOUT_PARAMETERS,
  claimIdempotencyKey,
  applyRules,
  requireApproval,
];

/** The same for a call that is only asked about: it charges nothing, claims nothing and uses no approval up. */
export const PREFLIGHT_STAGES: readonly Stage[] = [...OPENING, ...ABOUT_TOOL, ...ABOUT_PARAMETERS, applyRules, peekApproval];

/** What can be said of a tool before the parameters are known. */
export const TOOL_PREFLIGHT_STAGES: readonly Stage[] = [...OPENING, ...ABOUT_TOOL, checkCanAttempt];

function refuseWhileDraining({ request: { within } }: Call, context: StageContext): void {
  // A stopping hub waits for what runs, so it lets the steps of what runs pass as well.
  if (!context.isDraining() || (within && context.running.has(within))) return;
  throw new AtmoError('SHUTTING_DOWN', 'The hub is stopping and takes no new calls; try again when it is back');
}

function refuseWhileMemoryIsShort(_call: Call, context: StageContext): void {
  context.memory.check();
}

function chargeRateLimit(call: Call, context: StageContext): void {
  const { principal, sessionId } = call.request;
  context.rateLimiter.charge(principal);
  context.sessions.charge(principal, sessionId);
}

/** A name that this hub has no tool of means nothing before the tools of the others are known. */
function awaitRemoteTools(call: Call, context: StageContext): void | Promise<void> {
  const known = context.tools.awaitComplete(call.request.tool, resolveOptions(call, context));
  return known && waitForAtMost(call, context, known);
}

function resolveOptions({ request: { version, principal, routing } }: Call, context: StageContext): RemoteResolveOptions {
  return {
    ...(version !== undefined && { versionRange: version }),
    ...(routing?.only_nodes && { onlyNodes: routing.only_nodes }),
    isVisible: (candidate) => canSeeTool(candidate, principal, context.authorizer),
    isListed: (candidate) => isOffered(candidate, principal, context),
  };
}

function resolveTool(call: Call, context: StageContext): void {
  const { tool: name, timeoutMs } = call.request;
  const tool = context.tools.resolve(name, resolveOptions(call, context));
  if (timeoutMs !== undefined && !(timeoutMs > 0))
    throw new AtmoError('VALIDATION_ERROR', 'The timeout has to be a number of milliseconds above 0');
  call.setTool(tool);
  startDeadline(call, context, call.request.signal);
  if (call.request.wantsChunks && !tool.definition.execution.isStreamSupported) {
    throw new AtmoError('NOT_SUPPORTED', `The tool ${tool.id} has no partial results; call it without stream`);
  }
  if (call.mode === 'job' && !tool.definition.execution.isAsyncAllowed) {
    throw new AtmoError('NOT_SUPPORTED', `The tool ${tool.id} does not run as a job; call it without async`);
  }
}

function checkFeatures(call: Call, context: StageContext): void {
  const missing = missingFeatures(context.features, call.tool, call.request.principal);
  if (missing.length === 0) return;
  throw new AtmoError('PERMISSION_DENIED', `${call.tool.id} needs the feature ${missing.join(', ')}, which this caller does not have`, {
    features: missing,
  });
}

function refuseDisabledTools(call: Call, { disabledTools }: StageContext): void {
  if (!isListed(disabledTools, call.tool)) return;
  throw new AtmoError('RULE_BLOCKED', `The owner has switched off the tool ${call.tool.id}`);
}

function validateParameters(call: Call, context: StageContext): void {
  const { parameters, execution } = call.tool.definition;
  const ownBytes = execution.maxParamsBytes ?? context.maxParamsBytes;
  const maxBytes = call.isElsewhere ? maxForwardedBytes(call.tool, context) : ownBytes;
  const given = copyJsonObject(call.request.params ?? {}, { maxSize: ownBytes, maxDepth: MAX_PARAMS_DEPTH });
  call.params = given;
  call.paramsBytes = Buffer.byteLength(JSON.stringify(given));
  if (call.paramsBytes > maxBytes) throw paramsTooLong(maxBytes, call.isElsewhere && ownBytes > maxBytes);
  call.params = context.validator.parameters(parameters, given, LARGE_PARAMS_LIMITS);
}

function paramsTooLong(maxBytes: number, ofMesh: boolean): AtmoError {
  const why = ofMesh ? ', the most that goes to another hub; call the tool at the hub that has it' : '';
  return new AtmoError('PAYLOAD_TOO_LARGE', `The parameters are longer than ${maxBytes} bytes of JSON${why}`, { max_bytes: maxBytes });
}

async function canonicalizeParameters(call: Call, context: StageContext): Promise<void> {
  if (!call.tool.canonicalize) return;
  try {
    call.params = call.tool.canonicalize(call.params, callerView(call.request.principal, context.authorizer));
  } catch (error) {
    await redirectToDeviceHub(call, context, error);
    // The other hub's tool of this id may be defined otherwise.
    for (const stage of [checkStaticPermissions, checkFeatures, refuseDisabledTools, validateParameters]) stage(call, context);
  }
}

async function claimIdempotencyKey(call: Call, context: StageContext): Promise<void> {
  const { idempotencyKey: key, principal } = call.request;
  if (key === undefined) return;
  const callHash = `${call.mode}:${call.hash(context.sealSecret)}`;
  const result = context.idempotency.claim({ principalId: principalKey(principal), key, callHash });
  if (result.kind === 'claimed') call.claim = result.claim;
  else call.repeated = await orAborted(result.answer, call.deadline.signal);
}
