import type { ApprovalQueue } from '../core/approval-queue.ts';
import type { AuditSink } from '../core/audit-sink.ts';
import type { Authorizer } from '../core/authorizer.ts';
import type { Clock } from '../core/clock.ts';
import type { EventBus } from '../core/events.ts';
import type { Json, JsonObject } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import type { MeshView } from '../core/mesh-view.ts';
import type { Principal } from '../core/principal.ts';
import type { RateLimiter } from '../core/rate-limiter.ts';
import type { RuleEngine } from '../core/rule-engine.ts';
import type { ConcurrencyGate } from './concurrency-gate.ts';
import type { IdempotencyStore } from './idempotency-store.ts';
import type { JobStore } from './job-store.ts';
import type { SchemaValidator } from './schema-validator.ts';
import type { RegisteredTool } from './tool-definition.ts';
import type { ToolRegistry } from './tool-registry.ts';

/** A call that another hub is to run; it checks everything again itself. */
export interface ForwardedCall {
  readonly principal: Principal;
  readonly tool: RegisteredTool;
  readonly params: JsonObject;
  readonly requestId: string;
  readonly traceId: string;
  readonly deadlineMs: number;
  readonly hopBudget: number;
  readonly idempotencyKey?: string;
  readonly signal: AbortSignal;
}

/** Port: runs a call on another hub. NODE_UNAVAILABLE only when that hub has not accepted it. */
export interface CallRouter {
  forward(hubId: string, call: ForwardedCall): Promise<Json>;
}

/** Facts about this hub that decide whether it can run a tool. */
export interface NodeFacts {
  readonly name: string;
  readonly isOnline: boolean;
}

/** Whom the call pipeline works with; what is optional does not exist on every hub. */
export interface PipelineCollaborators {
  readonly registry: ToolRegistry;
  readonly validator: SchemaValidator;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventBus;
  readonly nodeId: string;
  readonly capabilities: () => readonly string[];
  readonly facts?: () => NodeFacts;
  readonly jobs: JobStore;
  readonly idempotency: IdempotencyStore;
  readonly audit?: AuditSink;
  readonly approvals?: ApprovalQueue;
  readonly rules?: RuleEngine;
  readonly rateLimiter?: RateLimiter;
  readonly router?: CallRouter;
  readonly mesh?: MeshView;
}

/** Bounds of the pipeline, and what its owner decided. */
export interface PipelineOptions {
  /** Calls that run at once; default 64. */
  readonly maxConcurrent?: number;
  /** Calls that wait for a slot; default 256. */
  readonly maxQueued?: number;
  /** Ids or names of tools that the owner switched off. */
  readonly disabledTools?: readonly string[];
  /** What a result that breaks its tool's own schema does; default `error`. */
  readonly resultInvalid?: 'error' | 'warn';
}

/** What the stages work with: the collaborators and what the pipeline keeps itself. */
export interface StageContext extends PipelineCollaborators {
  readonly gate: ConcurrencyGate;
  readonly disabledTools: ReadonlySet<string>;
  readonly resultInvalid: 'error' | 'warn';
  readonly isDraining: () => boolean;
  /** Turns a secret value into a text that only this process can compare. */
  readonly sealSecret: (value: unknown) => string;
}
