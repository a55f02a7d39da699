import type { ApprovalQueue, PlannedCall } from '../core/auth/approvals.ts';
import type { Authorizer, RateLimiter, RuleEngine } from '../core/auth/authorizer.ts';
import type { Authenticator, Principal } from '../core/auth/principal.ts';
import type { Clock, TrustedTime } from '../core/clock.ts';
import { CallerConcurrencyLimiter } from '../core/concurrency-limiter.ts';
import type { EventBus } from '../core/events.ts';
import type { StallDetector } from '../core/health.ts';
import type { Json, JsonObject } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import type { PeerDevice, RoutePeer } from '../core/mesh-view.ts';
import type { AuditSink } from '../core/storage/audit-sink.ts';
import { INVOCATION_POLICY } from '../tools/definition/invocation-policy.ts';
import type { CallChunk } from '../tools/definition/notifications.ts';
import type { RegisteredTool, ToolContext } from '../tools/definition/tool-definition.ts';
import type { ToolDirectory } from '../tools/registry/tool-directory.ts';
import type { ToolRegistry } from '../tools/registry/tool-registry.ts';
import type { SchemaValidator } from '../tools/schema/schema-validator.ts';
import type { IdempotencyStore } from './idempotency-store.ts';
import type { JobLocations } from './jobs/job-directory.ts';
import type { JobStore } from './jobs/job-store.ts';
import { MemoryGuard, SessionCallLimit } from './limits.ts';
import type { ToolFeatures } from './offered-tools.ts';
import type { UsageCounter } from './usage.ts';

/** A call that another hub is to run; it checks everything again itself. */
export interface ForwardedCall {
  readonly principal: Principal;
  readonly tool: RegisteredTool;
  /** What the caller asked for; the version of `tool` is one of them. */
  readonly versionRange?: string;
  /** Valid by the tool's schema, with defaults filled in; devices are named as the caller named them. */
  readonly params: JsonObject;
  readonly requestId: string;
  readonly traceId: string;
  readonly sessionId?: string;
  /** `job`: the result is a `JobView` of a job that lives on that hub. */
  readonly mode: 'sync' | 'job';
  /** Milliseconds since 1970 by this hub's clock. */
  readonly deadlineMs: number;
  /** Hops that are left beyond the first: 0 goes to a directly connected hub only. */
  readonly hopBudget: number;
  readonly idempotencyKey?: string;
  readonly signal: AbortSignal;
  /** The other hub has let the call through: from now on nobody else may run it. */
  readonly onAccept?: () => void;
  /** Hears what the call tells of itself while it runs there. */
  readonly onChunk?: (chunk: CallChunk) => void;
}

/** What another hub answered to a call that went well there. */
export interface RemoteResult {
  readonly result: Json;
  /** The hub that ran it. */
  readonly nodeId: string;
  readonly hops: number;
}

/** Port: runs a call on another hub. NODE_UNAVAILABLE only when that hub has not accepted it; else its errors as they are. */
export interface CallRouter {
  forward(hubId: string, call: ForwardedCall): Promise<RemoteResult>;
}

/** Facts about this hub that decide whether it can run a tool. */
export interface NodeFacts {
  readonly name: string;
  readonly isOnline: boolean;
  /** What holds for calls that need one of its capabilities, by type. */
  readonly constraints?: RoutePeer['constraints'];
}

/** Another hub as calls see it. */
export interface CallPeer extends RoutePeer {
  /** Devices that it tells of. */
  readonly devices?: readonly PeerDevice[];
}

/** Whom the call pipeline works with. None is optional: a check that nobody gave would be a check that is not made. */
export interface PipelineCollaborators {
  readonly registry: ToolRegistry;
  readonly validator: SchemaValidator;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  /** Whether calls that come now may have waited unseen. */
  readonly standstill: Pick<StallDetector, 'waitedMs'>;
  readonly logger: Logger;
  readonly events: EventBus;
  readonly nodeId: string;
  readonly capabilities: () => readonly string[];
  readonly facts: () => NodeFacts;
  readonly jobs: JobStore;
  readonly idempotency: IdempotencyStore;
  readonly audit: AuditSink;
  readonly approvals: ApprovalQueue;
  readonly rules: RuleEngine;
  readonly rateLimiter: RateLimiter;
  /** Of a hub in no mesh it refuses every call. */
  readonly router: CallRouter;
  /** Tools of this hub and of others. */
  readonly tools: ToolDirectory;
  /** Remembers on which other hub a job runs. */
  readonly jobPlaces: Pick<JobLocations, 'remember'>;
  readonly mesh: { peers(): readonly CallPeer[] };
  /** Whether a token still counts; asked when a call comes and again right before it runs. */
  readonly validity: Pick<Authenticator, 'isStillValid'>;
  /** Dangerous calls are refused until it is trusted. */
  readonly time: TrustedTime;
  /** Turns a secret value into a text that only this hub can compare. */
  readonly sealSecret: (value: Json) => string;
  readonly features: ToolFeatures;
  /** The role that a principal's token was minted for. */
  readonly roleOf: (principal: Principal) => string | undefined;
  /** Bytes of memory that the process can still get. */
  readonly availableMemory: () => number;
  /** Where calls are counted. */
  readonly usage: UsageCounter;
}

/** Bounds of the pipeline, and what its owner decided. */
export interface PipelineOptions {
  /** Calls that run at once; default 64. */
  readonly maxConcurrent?: number;
  /** Calls that wait for a slot; default 256. */
  readonly maxQueued?: number;
  /** Calls of one caller, with all that it spawned, that run at once; default 16. */
  readonly maxConcurrentPerCaller?: number;
  /** Calls of one caller that wait for a slot; default 256. */
  readonly maxQueuedPerCaller?: number;
  /** Time limit of tools that state none of their own; default 30 s. */
  readonly defaultTimeoutMs?: number;
  /** Calls of one session; no bound when absent. */
  readonly maxCallsPerSession?: number;
  /** Longest JSON text of a call's parameters, in UTF-8 bytes, where the tool states no bound of its own; default 64 KiB. */
  readonly maxParamsBytes?: number;
  /** New calls are refused while less memory than this is left; default 16 MB. */
  readonly minFreeBytes?: number;
  /** Ids or names of tools that the owner switched off; looked at again with each call. */
  readonly disabledTools?: readonly string[];
  /**
   * Ids or names of tools of this hub whose calls may go to another one, with all that they carry, when their service cannot be
   * reached from here; none when absent. Looked at again with each call.
   */
  readonly failOverTools?: readonly string[];
  /** What a result that breaks its tool's own schema does; default `error`. */
  readonly resultInvalid?: 'error' | 'warn';
  /** One log line for each finished call; default true. */
  readonly logCalls?: boolean;
}

/** What the stages work with: the collaborators and what the pipeline keeps itself. */
export interface StageContext extends PipelineCollaborators {
  readonly gates: CallerConcurrencyLimiter;
  readonly memory: MemoryGuard;
  readonly sessions: SessionCallLimit;
  readonly disabledTools: readonly string[];
  readonly failOverTools: readonly string[];
  readonly resultInvalid: 'error' | 'warn';
  readonly defaultTimeoutMs: number;
  readonly maxParamsBytes: number;
  readonly isDraining: () => boolean;
  /** The best that the hub knows of the time, milliseconds since 1970. */
  readonly nowMs: () => number;
  /** What handlers that run now were given: only these can have steps. */
  readonly running: WeakSet<ToolContext>;
  /** The steps that people approved of those among them, without the ones that have begun. */
  readonly stepsLeft: WeakMap<ToolContext, PlannedCall[]>;
}

const DEFAULTS = { maxConcurrent: 64, maxQueued: 256, maxConcurrentPerCaller: 16, maxQueuedPerCaller: 256 } as const;
const DEFAULT_MAX_PARAMS_BYTES = 65_536;
const DEFAULT_MIN_FREE_BYTES = 16_000_000;

/** Makes what the stages work with; what is left out gets its default. */
export function stageContext(collaborators: PipelineCollaborators, options: PipelineOptions, isDraining: () => boolean): StageContext {
  const { clock, time, availableMemory } = collaborators;
  return {
    registry: collaborators.registry,
    tools: collaborators.tools,
    validator: collaborators.validator,
    authorizer: collaborators.authorizer,
    clock,
    standstill: collaborators.standstill,
    logger: collaborators.logger,
    events: collaborators.events,
    nodeId: collaborators.nodeId,
    capabilities: collaborators.capabilities,
    facts: collaborators.facts,
    jobs: collaborators.jobs,
    idempotency: collaborators.idempotency,
    audit: collaborators.audit,
    approvals: collaborators.approvals,
    rules: collaborators.rules,
    rateLimiter: collaborators.rateLimiter,
    router: collaborators.router,
    jobPlaces: collaborators.jobPlaces,
    mesh: collaborators.mesh,
    validity: collaborators.validity,
    time,
    sealSecret: collaborators.sealSecret,
    features: collaborators.features,
    roleOf: collaborators.roleOf,
    availableMemory,
    usage: collaborators.usage,
    gates: new CallerConcurrencyLimiter({
      maxRunning: options.maxConcurrent ?? DEFAULTS.maxConcurrent,
      maxWaiting: options.maxQueued ?? DEFAULTS.maxQueued,
      maxRunningPerCaller: options.maxConcurrentPerCaller ?? DEFAULTS.maxConcurrentPerCaller,
      maxWaitingPerCaller: options.maxQueuedPerCaller ?? DEFAULTS.maxQueuedPerCaller,
    }),
    memory: new MemoryGuard({ clock, availableMemory }, { minFreeBytes: options.minFreeBytes ?? DEFAULT_MIN_FREE_BYTES }),
    sessions: new SessionCallLimit(clock, { maxCalls: options.maxCallsPerSession ?? Number.POSITIVE_INFINITY }),
    disabledTools: options.disabledTools ?? [],
    failOverTools: options.failOverTools ?? [],
    resultInvalid: options.resultInvalid ?? 'error',
    defaultTimeoutMs: options.defaultTimeoutMs ?? INVOCATION_POLICY.timeoutMs,
    maxParamsBytes: options.maxParamsBytes ?? DEFAULT_MAX_PARAMS_BYTES,
    isDraining,
    nowMs: () => time.now(),
    running: new WeakSet(),
    stepsLeft: new WeakMap(),
  };
}
