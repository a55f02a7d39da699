import type { ApprovalQueue } from '../../core/access/approval-queue.ts';
import type { Authorizer } from '../../core/access/authorizer.ts';
import type { Authenticator, Principal } from '../../core/access/principal.ts';
import type { RateLimiter } from '../../core/access/rate-limiter.ts';
import type { RuleEngine } from '../../core/access/rule-engine.ts';
import type { EventBus } from '../../core/events.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { Logger } from '../../core/logger.ts';
import type { PeerDevice, RoutePeer } from '../../core/mesh/mesh-view.ts';
import type { AuditSink } from '../../core/storage/audit-sink.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { Standstill } from '../../core/time/standstill.ts';
import type { TrustedTime } from '../../core/time/trusted-time.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import type { KnownTools } from '../elsewhere/known-tools.ts';
import type { SchemaValidator } from '../schema/schema-validator.ts';
import type { ToolRegistry } from '../tool-registry.ts';
import type { CallChunk } from './asking/call-chunk.ts';
import type { IdempotencyStore } from './jobs/idempotency-store.ts';
import type { JobPlaces } from './jobs/job-places.ts';
import type { JobStore } from './jobs/job-store.ts';
import type { ToolFeatures } from './tool-features.ts';
import type { UsageCounter } from './usage/usage-counter.ts';

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
  readonly standstill: Pick<Standstill, 'waitedMs'>;
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
  readonly tools: KnownTools;
  /** Remembers on which other hub a job runs. */
  readonly jobPlaces: Pick<JobPlaces, 'remember'>;
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
