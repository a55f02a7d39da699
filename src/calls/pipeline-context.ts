import type { ApprovalQueue, PlannedCall } from '../core/auth/approvals.ts';
import type { Authenticator, Authorizer, Principal, RateLimiter, RuleEngine } from '../core/auth/principal.ts';
import type { TrustedTime } from '../core/clock.ts';
import { CallerConcurrencyLimiter } from '../core/concurrency-limiter.ts';
import type { HubContext } from '../core/context.ts';
import type { StallDetector } from '../core/health.ts';
import type { HubId } from '../core/ids.ts';
import type { Json, JsonObject } from '../core/json.ts';
import type { PeerDevice, RoutePeer } from '../core/mesh-view.ts';
import { INVOCATION_POLICY } from '../tools/definition/invocation-policy.ts';
import type { CallChunk } from '../tools/definition/notifications.ts';
import type { RegisteredTool, ToolContext } from '../tools/definition/tool-definition.ts';
import type { SchemaValidator } from '../tools/schema/schema-validator.ts';
import type { IdempotencyStore } from './idempotency-store.ts';
import type { JobStore } from './jobs/job-store.ts';
import { MemoryGuard, SessionCallLimit } from './limits.ts';
import type { UsageCounter } from './usage.ts';

/** A call that another hub is to run; it checks everything again itself. */
export interface ForwardedCall {
  readonly principal: Principal;
  readonly tool: RegisteredTool;
  /** The version range that the caller requested; the version of `tool` is in it. */
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
  /** Number of hops after the first: with 0 the call goes only to a directly connected hub. */
  readonly hopBudget: number;
  readonly idempotencyKey?: string;
  readonly signal: AbortSignal;
  /** The other hub has let the call through: from now on nobody else may run it. */
  readonly onAccept?: () => void;
  /** Receives progress and partial results while the call runs there. */
  readonly onChunk?: (chunk: CallChunk) => void;
}

/** The result of a call that succeeded on another hub. */
export interface RemoteResult {
  readonly result: Json;
  /** The hub that ran it. */
  readonly nodeId: string;
  readonly hops: number;
}

/**
 * Port: runs a call on another hub. Rejects with NODE_UNAVAILABLE only if that hub has not accepted the call; otherwise with the hub's own
 * error.
 */
export interface CallRouter {
  forward(hubId: string, call: ForwardedCall): Promise<RemoteResult>;
}

/** A hub that might run a call. */
export interface RouteCandidate extends Omit<RoutePeer, 'id' | 'isOnline' | 'roundTripMs'> {
  readonly id: string;
  readonly isLocal: boolean;
  readonly isOnline: boolean;
  readonly roundTripMs: number;
}

/** Another hub, as a route to it. */
export interface CallPeer extends RoutePeer {
  /** Devices that it announces. */
  readonly devices?: readonly PeerDevice[];
}

/** Which tools a name may mean. */
export interface ToolLookup {
  readonly versionRange?: string;
  /** Ids or names of the only hubs to search. */
  readonly onlyNodes?: readonly string[];
  /** Tools for which it returns false do not exist for the caller. */
  readonly isVisible?: (tool: RegisteredTool) => boolean;
  /** Returns whether a tool may be suggested; default: all visible tools. */
  readonly isListed?: (tool: RegisteredTool) => boolean;
}

/** Port: the tools of this hub and of others. */
export interface CallableTools {
  all(): readonly RegisteredTool[];
  /** Returns the tool with a name. Throws TOOL_NOT_FOUND, AMBIGUOUS_TOOL or NODE_UNAVAILABLE. */
  resolve(name: string, options?: ToolLookup): RegisteredTool;
  find(name: string, options?: ToolLookup): RegisteredTool | undefined;
  /** Resolves when the tools of other hubs are known; undefined when no wait is needed. */
  awaitComplete(name?: string, options?: ToolLookup): Promise<void> | undefined;
  /** Returns the other hubs that can run a tool. */
  hubsOf(tool: RegisteredTool): readonly HubId[];
}

/** Tools that need a feature of the caller beside a permission. */
export interface ToolFeatures {
  /** Features by canonical id, `namespace:name` or bare name, present or former, of the tool that needs them. */
  readonly required: Readonly<Record<string, readonly string[]>>;
  /** Features that a caller has. */
  readonly granted: (principal: Principal) => readonly string[];
}

/** The collaborators of the call pipeline. None of them is optional: without its collaborator a check would be skipped. */
export interface PipelineCollaborators extends Pick<HubContext, 'clock' | 'logger' | 'events' | 'audit'> {
  /** Tools of this hub by their canonical id. */
  readonly registry: { get(id: string): RegisteredTool | undefined };
  readonly validator: SchemaValidator;
  readonly authorizer: Authorizer;
  /** How long calls that arrive now may have waited while the process was suspended. */
  readonly standstill: Pick<StallDetector, 'waitedMs'>;
  /** This hub, which every route to its own tools begins with. Its capabilities and its network are read where a tool needs them. */
  readonly self: RouteCandidate;
  readonly jobs: JobStore;
  readonly idempotency: IdempotencyStore;
  readonly approvals: ApprovalQueue;
  readonly rules: RuleEngine;
  readonly rateLimiter: RateLimiter;
  /** Without a mesh it rejects every call. */
  readonly router: CallRouter;
  readonly tools: CallableTools;
  /** Remembers on which other hub a job runs. */
  readonly jobPlaces: { remember(job: { readonly jobId: string; readonly hubId: string; readonly owner: Principal }): void };
  readonly mesh: { peers(): readonly CallPeer[] };
  /** Whether a token is still valid: checked when a call arrives and again right before it runs. */
  readonly validity: Pick<Authenticator, 'isStillValid'>;
  /** Dangerous calls are refused until it is trusted. */
  readonly time: TrustedTime;
  /** Turns a secret value into a text that only this hub can compare. */
  readonly sealSecret: (value: Json) => string;
  readonly features: ToolFeatures;
  /** The role that a principal's token was minted for. */
  readonly roleOf: (principal: Principal) => string | undefined;
  /** The process, which reports the free memory in bytes. */
  readonly process: Pick<NodeJS.Process, 'availableMemory'>;
  /** Counts calls. */
  readonly usage: UsageCounter;
}

/** Limits of the pipeline, and the owner's switches. */
export interface PipelineOptions {
  /** Calls that run at once; default 64. */
  readonly maxConcurrent?: number;
  /** Calls that wait for a slot; default 256. */
  readonly maxQueued?: number;
  /** Calls of one caller with its descendants that run at once; default 16. */
  readonly maxConcurrentPerCaller?: number;
  /** Calls of one caller that wait for a slot; default 256. */
  readonly maxQueuedPerCaller?: number;
  /** Time limit of tools that declare none; default 30 s. */
  readonly defaultTimeoutMs?: number;
  /** Calls of one session; default: unlimited. */
  readonly maxCallsPerSession?: number;
  /** Longest JSON text of a call's parameters in UTF-8 bytes, for tools that declare no limit; default 64 KiB. */
  readonly maxParamsBytes?: number;
  /** New calls are refused while less memory than this is left; default 16 MB. */
  readonly minFreeBytes?: number;
  /** Ids or names of tools that the owner switched off; read again for each call. */
  readonly disabledTools?: readonly string[];
  /**
   * Ids or names of this hub's tools whose calls may go to another hub, with all of their content, if this hub cannot reach their service;
   * default: no tool. The list is read for each call.
   */
  readonly failOverTools?: readonly string[];
  /** Whether a result that breaks its tool's own schema fails the call or is only logged; default `error`. */
  readonly resultInvalid?: 'error' | 'warn';
  /** Logs one line for each finished call; default true. */
  readonly logCalls?: boolean;
}

/** The collaborators of the stages and the state of the pipeline itself. */
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
  /** The contexts of the handlers that run now: only these can have steps. */
  readonly running: WeakSet<ToolContext>;
  /** For each handler, the approved steps that have not begun. */
  readonly stepsLeft: WeakMap<ToolContext, PlannedCall[]>;
}

const DEFAULTS = { maxConcurrent: 64, maxQueued: 256, maxConcurrentPerCaller: 16, maxQueuedPerCaller: 256 } as const;
const DEFAULT_MAX_PARAMS_BYTES = 65_536;
const DEFAULT_MIN_FREE_BYTES = 16_000_000;

/** Makes the context of the stages, with defaults for the options that are absent. */
export function stageContext(collaborators: PipelineCollaborators, options: PipelineOptions, isDraining: () => boolean): StageContext {
  const { clock, process } = collaborators;
  return {
    ...collaborators,
    gates: new CallerConcurrencyLimiter({
      maxRunning: options.maxConcurrent ?? DEFAULTS.maxConcurrent,
      maxWaiting: options.maxQueued ?? DEFAULTS.maxQueued,
      maxRunningPerCaller: options.maxConcurrentPerCaller ?? DEFAULTS.maxConcurrentPerCaller,
      maxWaitingPerCaller: options.maxQueuedPerCaller ?? DEFAULTS.maxQueuedPerCaller,
    }),
    memory: new MemoryGuard({ clock, process }, { minFreeBytes: options.minFreeBytes ?? DEFAULT_MIN_FREE_BYTES }),
    sessions: new SessionCallLimit(clock, { maxCalls: options.maxCallsPerSession ?? Number.POSITIVE_INFINITY }),
    disabledTools: options.disabledTools ?? [],
    failOverTools: options.failOverTools ?? [],
    resultInvalid: options.resultInvalid ?? 'error',
    defaultTimeoutMs: options.defaultTimeoutMs ?? INVOCATION_POLICY.timeoutMs,
    maxParamsBytes: options.maxParamsBytes ?? DEFAULT_MAX_PARAMS_BYTES,
    isDraining,
    running: new WeakSet(),
    stepsLeft: new WeakMap(),
  };
}
