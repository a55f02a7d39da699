import type { PlannedCall } from '../../../core/access/approvals.ts';
import type { ToolContext } from '../../definition/tool-definition.ts';
import { CallerGates } from '../bounds/caller-gates.ts';
import { INVOCATION_POLICY } from '../bounds/invocation-policy.ts';
import { MemoryFloor } from '../bounds/memory-floor.ts';
import { SessionBound } from '../bounds/session-bound.ts';
import type { PipelineCollaborators, PipelineOptions } from '../call-collaborators.ts';

/** What the stages work with: the collaborators and what the pipeline keeps itself. */
export interface StageContext extends PipelineCollaborators {
  readonly gates: CallerGates;
  readonly memory: MemoryFloor;
  readonly sessions: SessionBound;
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
    gates: new CallerGates({
      maxRunning: options.maxConcurrent ?? DEFAULTS.maxConcurrent,
      maxWaiting: options.maxQueued ?? DEFAULTS.maxQueued,
      maxRunningPerCaller: options.maxConcurrentPerCaller ?? DEFAULTS.maxConcurrentPerCaller,
      maxWaitingPerCaller: options.maxQueuedPerCaller ?? DEFAULTS.maxQueuedPerCaller,
    }),
    memory: new MemoryFloor({ clock, availableMemory }, { minFreeBytes: options.minFreeBytes ?? DEFAULT_MIN_FREE_BYTES }),
    sessions: new SessionBound(clock, { maxCalls: options.maxCallsPerSession ?? Number.POSITIVE_INFINITY }),
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
