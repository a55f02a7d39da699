import {
  type ApprovableCall,
  type ApprovedCall,
  type AttemptableCall,
  type CallFacts,
  type CheckedCall,
  type ClaimedCall,
  type QueuedCall,
  type ReceivedCall,
  type RehearsedCall,
  type RemoteJobCall,
  type RepeatedCall,
  toolIdOf,
} from './call.ts';
import type { StageContext } from './pipeline-context.ts';
import * as admission from './stages/admission.ts';
import * as authorization from './stages/authorization.ts';
import * as consent from './stages/consent.ts';
import * as execution from './stages/execution.ts';

/**
 * One stage of the pipeline. It takes the call in the state of the previous stage, and returns the call with additional facts. It throws
 * AtmoError to refuse the call.
 */
type Stage<In, Out> = (call: In, context: StageContext) => Out | Promise<Out>;

/** Stages in the order in which a call passes them. A list with a missing or misplaced stage does not compile. */
export class StageList<in In extends CallFacts, out Out extends CallFacts> {
  readonly #stages: readonly Stage<never, CallFacts>[];

  private constructor(stages: readonly Stage<never, CallFacts>[]) {
    this.#stages = stages;
  }

  /** Returns an empty list of stages for calls in the state `Start`. */
  static from<Start extends CallFacts>(): StageList<Start, Start> {
    return new StageList<Start, Start>([]);
  }

  pass<Next extends CallFacts>(stage: Stage<Out, Next>): StageList<In, Next> {
    return new StageList<In, Next>([...this.#stages, stage]);
  }

  /** Runs the stages in order. Rejects with the error of the first stage that refuses the call. */
  async run(call: In, context: StageContext): Promise<Out> {
    let facts: CallFacts = call;
    for (const stage of this.#stages) {
      context.logger.debug('call.stage_started', { stage: stage.name, tool: toolIdOf(facts), trace_id: facts.running.traceId });
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

/** The stages that check a call. The last stage claims the idempotency key, or finds the answer of an earlier call with that key. */
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

/** The stages that apply the owner's rules, and require the signature of another hub and approvals. */
export const CONSENT: StageList<ClaimedCall, ApprovedCall> = StageList.from<ClaimedCall>()
  .pass(consent.applyRules)
  .pass(consent.requireSignature)
  .pass(consent.requireApproval);

/** The stage that creates a job on this hub. The call then passes the stages of EXECUTION. */
export const JOB: StageList<ApprovedCall, QueuedCall> = StageList.from<ApprovedCall>().pass(execution.createJob);

const RUN = StageList.from<ApprovedCall>()
  .pass(execution.takeSlot)
  .pass(execution.chooseRoute)
  .pass(execution.writeIntent)
  .pass(execution.confirmCallerWaits)
  .pass(authorization.confirmEffects)
  .pass(consent.confirmRules)
  .pass(execution.runTool);

/** The stages that run an approved call. */
export const EXECUTION: StageList<ApprovedCall, CheckedCall> = RUN.pass(execution.checkResult);

/** The stages that start a call as a job on another hub. */
export const REMOTE_JOB: StageList<ApprovedCall, RemoteJobCall> = RUN.pass(execution.rememberJobLocation);

const ATTEMPTED = OPENING.pass(admission.skipRateLimit)
  .pass(admission.awaitRemoteTools)
  .pass(admission.resolveTool)
  .pass(admission.refuseUnsupportedMode)
  .pass(authorization.checkStaticPermissions)
  .pass(authorization.checkFeatures)
  .pass(authorization.refuseDisabledTools);

/** The checks of a call that never runs. They charge no rate limit and claim no idempotency key. */
const JUDGED = ATTEMPTED.pass(admission.readParameters)
  .pass(admission.validateParameters)
  .pass(admission.canonicalizeParameters)
  .pass(authorization.authorizeEffects)
  .pass(consent.applyRules);

/** The stages that check a call without running it. They use no approval. */
export const PREFLIGHT: StageList<ReceivedCall, ApprovableCall> = JUDGED.pass(consent.peekApproval);

/** The stages that compute what a call would do, with the approval that it would need. They request no approval. */
export const REHEARSAL: StageList<ReceivedCall, RehearsedCall> = JUDGED.pass(execution.requireRoute).pass(consent.computeApprovalNeed);

/** The checks that are possible before the parameters are known. */
export const TOOL_PREFLIGHT: StageList<ReceivedCall, AttemptableCall> = ATTEMPTED.pass(authorization.checkCanAttempt);
