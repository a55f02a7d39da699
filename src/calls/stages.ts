import {
  type ApprovableCall,
  type ApprovedCall,
  type AttemptableCall,
  type CallFacts,
  type CheckedCall,
  type ClaimedCall,
  type QueuedCall,
  type ReceivedCall,
  type RemoteJobCall,
  type RepeatedCall,
  toolIdOf,
} from './call.ts';
import type { StageContext } from './pipeline-context.ts';
import * as admission from './stages/admission.ts';
import * as authorization from './stages/authorization.ts';
import * as consent from './stages/consent.ts';
import * as execution from './stages/execution.ts';

/** One stage: takes the call in the state of the previous stage and returns it with new facts. Throws AtmoError to refuse it. */
type Stage<In, Out> = (call: In, context: StageContext) => Out | Promise<Out>;

/** Stages in the order in which a call passes them. A list in which a stage is missing or out of place does not compile. */
export class StageList<in In extends CallFacts, out Out extends CallFacts> {
  readonly #stages: readonly Stage<never, CallFacts>[];

  private constructor(stages: readonly Stage<never, CallFacts>[]) {
    this.#stages = stages;
  }

  /** Returns an empty list for calls in one state. */
  static from<Start extends CallFacts>(): StageList<Start, Start> {
    return new StageList<Start, Start>([]);
  }

  pass<Next extends CallFacts>(stage: Stage<Out, Next>): StageList<In, Next> {
    return new StageList<In, Next>([...this.#stages, stage]);
  }

  /** Runs the stages; the error of the first that refuses is thrown. */
  async run(call: In, context: StageContext): Promise<Out> {
    let facts: CallFacts = call;
    for (const stage of this.#stages) {
      context.logger.debug('call.stage', { stage: stage.name, tool: toolIdOf(facts), trace_id: facts.running.traceId });
      const next = stage(facts as never, context);
      facts = facts.running.keep(next instanceof Promise ? await next : next);
    }
    return facts as Out;
  }
}

const OPENING = StageList.from<ReceivedCall>()
  .pass(admission.refuseWhileDraining)
  .pass(admission.refuseWhileMemoryIsShort)
  .pass(authorization.requireValidToken);

/** The checks of a call, up to the stored answer of an earlier call with the same idempotency key. */
export const ADMISSION: StageList<ReceivedCall, ClaimedCall | RepeatedCall> = OPENING.pass(admission.chargeRateLimit)
  .pass(admission.awaitRemoteTools)
  .pass(admission.resolveTool)
  .pass(admission.refuseUnsupportedMode)
  .pass(authorization.checkStaticPermissions)
  .pass(authorization.checkFeatures)
  .pass(authorization.refuseDisabledTools)
  .pass(admission.readParameters)
  .pass(admission.validateParameters)
  .pass(admission.canonicalizeParameters)
  .pass(authorization.authorizeEffects)
  .pass(admission.claimIdempotencyKey);

/** The consent of the owner's rules and of people. */
export const CONSENT: StageList<ClaimedCall, ApprovedCall> = StageList.from<ClaimedCall>()
  .pass(consent.applyRules)
  .pass(consent.requireApproval);

/** The start of a job on this hub, which passes EXECUTION afterwards. */
export const JOB: StageList<ApprovedCall, QueuedCall> = StageList.from<ApprovedCall>().pass(execution.createJob);

const RUN = StageList.from<ApprovedCall>()
  .pass(execution.takeSlot)
  .pass(execution.chooseRoute)
  .pass(execution.writeIntent)
  .pass(execution.confirmCallerWaits)
  .pass(authorization.confirmEffects)
  .pass(consent.confirmRules)
  .pass(execution.runTool);

/** The run of an approved call. */
export const EXECUTION: StageList<ApprovedCall, CheckedCall> = RUN.pass(execution.checkResult);

/** The stages of a call that becomes a job of another hub. */
export const REMOTE_JOB: StageList<ApprovedCall, RemoteJobCall> = RUN.pass(execution.rememberJobLocation);

/** The checks of a call that is asked about and never runs: it is not charged, claims no key and uses no approval up. */
export const PREFLIGHT: StageList<ReceivedCall, ApprovableCall> = OPENING.pass(admission.skipRateLimit)
  .pass(admission.awaitRemoteTools)
  .pass(admission.resolveTool)
  .pass(admission.refuseUnsupportedMode)
  .pass(authorization.checkStaticPermissions)
  .pass(authorization.checkFeatures)
  .pass(authorization.refuseDisabledTools)
  .pass(admission.readParameters)
  .pass(admission.validateParameters)
  .pass(admission.canonicalizeParameters)
  .pass(authorization.authorizeEffects)
  .pass(consent.applyRules)
  .pass(consent.peekApproval);

/** The checks that are possible before the parameters are known. */
export const TOOL_PREFLIGHT: StageList<ReceivedCall, AttemptableCall> = OPENING.pass(admission.skipRateLimit)
  .pass(admission.awaitRemoteTools)
  .pass(admission.resolveTool)
  .pass(admission.refuseUnsupportedMode)
  .pass(authorization.checkStaticPermissions)
  .pass(authorization.checkFeatures)
  .pass(authorization.refuseDisabledTools)
  .pass(authorization.checkCanAttempt);
