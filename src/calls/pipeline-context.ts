import type { ApprovalQueue, ApprovedStep, CoveringApproval } from '../core/auth/approvals.ts';
import type { CallVault } from '../core/auth/call-vault.ts';
import type { Authenticator, Authorizer, Principal, RateLimiter, RuleEngine } from '../core/auth/principal.ts';
import type { TrustedTime } from '../core/clock.ts';
import { CallerConcurrencyLimiter } from '../core/concurrency-limiter.ts';
import type { HubContext } from '../core/context.ts';
import type { DeviceStates } from '../core/devices/device-states.ts';
import type { StallDetector } from '../core/health.ts';
import type { HubId } from '../core/ids.ts';
import type { Json, JsonObject } from '../core/json.ts';
import type { PeerDevice, RoutePeer } from '../core/mesh-view.ts';
import type { CallChunk } from '../tools/definition/notifications.ts';
import type { RegisteredTool, ToolContext } from '../tools/definition/tool-definition.ts';
import type { SchemaValidator } from '../tools/schema/schema-validator.ts';
import type { ComingAutomations } from './coming-conflicts.ts';
import type { IdempotencyStore } from './idempotency-store.ts';
import type { JobStore } from './jobs/job-store.ts';
import { type FreeMemory, MemoryGuard, SessionCallLimit } from './limits.ts';
import type { UsageCounter } from './usage.ts';

/** A call that this hub sends to another hub. The other hub repeats all checks. */
export interface ForwardedCall {
  readonly principal: Principal;
  readonly tool: RegisteredTool;
  /** The version range that the caller requested; `tool` satisfies it. */
  readonly versionRange?: string;
  /** The validated parameters, with defaults. Devices still have the names that the caller used. */
  readonly params: JsonObject;
  readonly requestId: string;
  readonly traceId: string;
  readonly sessionId?: string;
  /**
   * In the modes `job` and `waiting_job`, the result is the `JobView` of a job on the other hub. In the mode `waiting_job`, that job waits
   * if people have to approve the call.
   */
  readonly mode: 'sync' | 'job' | 'waiting_job';
  /** Deadline by this hub's monotonic clock, in milliseconds. */
  readonly untilMs: number;
  /** Maximum number of hops after the first hop. If it is 0, the call goes only to a directly connected hub. */
  readonly hopBudget: number;
  readonly idempotencyKey?: string;
  readonly signal: AbortSignal;
  /** Is called when the other hub has accepted the call. From then on, the call may have taken effect. */
  readonly onAccept?: () => void;
  /** Receives progress and partial results while the call runs on the other hub. */
  readonly onChunk?: (chunk: CallChunk) => void;
}

/** The result of a call that succeeded on another hub. */
export interface RemoteResult {
  readonly result: Json;
  /** Id of the hub that ran the call. */
  readonly nodeId: string;
  readonly hops: number;
}

/** Port: runs a call on another hub. Rejects with NODE_UNAVAILABLE only if the call did not run or is safe to repeat. */
export interface CallRouter {
  forward(hubId: string, call: ForwardedCall): Promise<RemoteResult>;
}

/** A hub that might run a call: this hub or another hub. */
export interface RouteCandidate extends Omit<RoutePeer, 'id' | 'isOnline' | 'roundTripMs'> {
  readonly id: string;
  readonly isLocal: boolean;
  readonly isOnline: boolean;
  readonly roundTripMs: number;
}

/** Another hub, with the devices that it announces. */
export interface CallPeer extends RoutePeer {
  /** Devices that the hub announces. */
  readonly devices?: readonly PeerDevice[];
}

/** Options for finding a tool by name. They limit which tools are considered. */
export interface ToolLookup {
  readonly versionRange?: string;
  /** Ids or names of hubs. If present, only the tools of these hubs are considered. */
  readonly onlyNodes?: readonly string[];
  /** Returns whether the caller may see a tool; an invisible tool is treated as unknown. */
  readonly isVisible?: (tool: RegisteredTool) => boolean;
  /** Returns whether an error message may suggest the tool. By default, every visible tool may be suggested. */
  readonly isListed?: (tool: RegisteredTool) => boolean;
}

/** Port: the tools of this hub and of other hubs. */
export interface CallableTools {
  all(): readonly RegisteredTool[];
  /** Returns the named tool. Throws TOOL_NOT_FOUND, AMBIGUOUS_TOOL (several tools) or NODE_UNAVAILABLE (its hub is unreachable). */
  resolve(name: string, options?: ToolLookup): RegisteredTool;
  find(name: string, options?: ToolLookup): RegisteredTool | undefined;
  /** Returns a promise that resolves when the tools of other hubs are loaded; undefined if no wait is needed. */
  awaitComplete(name?: string, options?: ToolLookup): Promise<void> | undefined;
  hubsOf(tool: RegisteredTool): readonly HubId[];
}

/** The features that some tools require of a caller, in addition to permissions. */
export interface ToolFeatures {
  /** Required features by tool. A key is the canonical id, `namespace:name` or the bare name of a tool; former names are valid too. */
  readonly required: Readonly<Record<string, readonly string[]>>;
  /** Features that a caller has. */
  readonly granted: (principal: Principal) => readonly string[];
}

/** The collaborators of the call pipeline. All are required, because each missing collaborator would be a missing check. */
export interface PipelineCollaborators extends Pick<HubContext, 'clock' | 'logger' | 'events' | 'audit'> {
  /** The tools of this hub by canonical id. */
  readonly registry: { get(id: string): RegisteredTool | undefined };
  readonly validator: SchemaValidator;
  readonly authorizer: Authorizer;
  /** `waitedMs` is the time that a newly received call may have waited before the hub read it, because the process was suspended. */
  readonly stallDetector: Pick<StallDetector, 'waitedMs'>;
  /** This hub as a candidate to run its own tools. Its capabilities and network state are read only when a tool needs them. */
  readonly self: RouteCandidate;
  readonly jobs: JobStore;
  readonly idempotency: IdempotencyStore;
  readonly approvals: ApprovalQueue;
  /** Encrypts the calls of jobs that wait for approval. */
  readonly vault: CallVault;
  readonly rules: RuleEngine;
  readonly rateLimiter: RateLimiter;
  /** Limits rehearsals, which the rate limits of calls do not count. */
  readonly rehearsalLimiter: Pick<RateLimiter, 'charge'>;
  /** Runs calls on other hubs; without a mesh it rejects every call. */
  readonly router: CallRouter;
  readonly tools: CallableTools;
  /** Stores which other hub runs a job. */
  readonly jobPlaces: { remember(job: { readonly jobId: string; readonly hubId: string; readonly owner: Principal }): void };
  readonly mesh: { peers(): readonly CallPeer[] };
  /** The states of this hub's devices, which are written to the audit log so that a call can be undone. */
  readonly states: DeviceStates;
  /** What automations will do soon, which a rehearsal compares with the call. */
  readonly coming: ComingAutomations;
  /** Checks whether a token is still valid, when a call arrives and again right before the call runs. */
  readonly validity: Pick<Authenticator, 'isStillValid'>;
  /** The hub's clock. Dangerous calls are refused until its time is trusted. */
  readonly time: TrustedTime;
  /** Returns a hash of a secret value with this hub's key. Without the key, nobody can guess the value from the hash. */
  readonly sealSecret: (value: Json) => string;
  readonly features: ToolFeatures;
  /** Returns the role for which a principal's token was issued. */
  readonly roleOf: (principal: Principal) => string | undefined;
  /** The process, which reports the free memory. */
  readonly process: FreeMemory;
  readonly usage: UsageCounter;
}

/** The settings of the call pipeline. All are required, because each missing limit would be a missing check. */
export interface PipelineOptions {
  /** Largest number of calls that run at once. */
  readonly maxConcurrent: number;
  /** Largest number of calls that wait for a slot. */
  readonly maxQueued: number;
  /** Largest number of running calls of a caller and its descendants. */
  readonly maxConcurrentPerCaller: number;
  /** Largest number of calls of one caller that wait for a slot. */
  readonly maxQueuedPerCaller: number;
  /** Time limit of tools that declare no limit. */
  readonly defaultTimeoutMs: number;
  /** Largest number of calls of one session. */
  readonly maxCallsPerSession: number;
  /** Maximum UTF-8 bytes of the JSON text of a call's parameters, for tools that declare no limit. */
  readonly maxParamsBytes: number;
  /** Minimum free memory in bytes. While less is free, new calls are refused. */
  readonly minFreeBytes: number;
  /** Ids or names of tools that the owner has disabled; read again for each call. */
  readonly disabledTools: readonly string[];
  /**
   * Tools of this hub, by id or name, that another hub may run if this hub cannot reach the tool's service. All parameters then go to that
   * hub. The list is read again for each call.
   */
  readonly failOverTools: readonly string[];
  /** What happens if a result violates its tool's schema: `error` fails the call, `warn` only logs the violation. */
  readonly resultInvalid: 'error' | 'warn';
  /** Logs one line for each finished call. */
  readonly logCalls: boolean;
}

/** The collaborators of the stages, and the state of the pipeline. */
export interface StageContext extends PipelineCollaborators {
  readonly callerLimiter: CallerConcurrencyLimiter;
  readonly memory: MemoryGuard;
  readonly sessions: SessionCallLimit;
  readonly disabledTools: readonly string[];
  readonly failOverTools: readonly string[];
  readonly resultInvalid: 'error' | 'warn';
  readonly defaultTimeoutMs: number;
  readonly maxParamsBytes: number;
  readonly isDraining: () => boolean;
  /** The contexts of the running handlers. A call counts as a step only if its `within` is one of them. */
  readonly running: WeakSet<ToolContext>;
  /** The contexts of running handlers whose calls another hub sent without its signature. */
  readonly unsigned: WeakSet<ToolContext>;
  /** Approved steps that have not started yet, by the context of the handler that calls them. */
  readonly stepsLeft: WeakMap<ToolContext, ApprovedStep[]>;
  /** Approvals that are for steps too, by the context of the handler that calls them. */
  readonly covering: WeakMap<ToolContext, CoveringApproval>;
}

/** Returns the context of the stages of one pipeline. */
export function stageContext(collaborators: PipelineCollaborators, options: PipelineOptions, isDraining: () => boolean): StageContext {
  const { clock, process } = collaborators;
  return {
    clock,
    logger: collaborators.logger,
    events: collaborators.events,
    audit: collaborators.audit,
    registry: collaborators.registry,
    validator: collaborators.validator,
    authorizer: collaborators.authorizer,
    stallDetector: collaborators.stallDetector,
    self: collaborators.self,
    jobs: collaborators.jobs,
    idempotency: collaborators.idempotency,
    approvals: collaborators.approvals,
    vault: collaborators.vault,
    rules: collaborators.rules,
    rateLimiter: collaborators.rateLimiter,
    rehearsalLimiter: collaborators.rehearsalLimiter,
    router: collaborators.router,
    tools: collaborators.tools,
    jobPlaces: collaborators.jobPlaces,
    mesh: collaborators.mesh,
    states: collaborators.states,
    coming: collaborators.coming,
    validity: collaborators.validity,
    time: collaborators.time,
    sealSecret: collaborators.sealSecret,
    features: collaborators.features,
    roleOf: collaborators.roleOf,
    process,
    usage: collaborators.usage,
    callerLimiter: new CallerConcurrencyLimiter({
      maxRunning: options.maxConcurrent,
      maxWaiting: options.maxQueued,
      maxRunningPerCaller: options.maxConcurrentPerCaller,
      maxWaitingPerCaller: options.maxQueuedPerCaller,
    }),
    memory: new MemoryGuard({ clock, process }, { minFreeBytes: options.minFreeBytes }),
    sessions: new SessionCallLimit(clock, { maxCalls: options.maxCallsPerSession }),
    disabledTools: options.disabledTools,
    failOverTools: options.failOverTools,
    resultInvalid: options.resultInvalid,
    defaultTimeoutMs: options.defaultTimeoutMs,
    maxParamsBytes: options.maxParamsBytes,
    isDraining,
    running: new WeakSet(),
    unsigned: new WeakSet(),
    stepsLeft: new WeakMap(),
    covering: new WeakMap(),
  };
}
