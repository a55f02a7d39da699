import { createHmac, randomBytes } from 'node:crypto';
import type { PlannedCall } from '../../../core/access/approvals.ts';
import type { Json } from '../../../core/json.ts';
import type { ToolContext } from '../../definition/tool-definition.ts';
import { KnownTools } from '../../elsewhere/known-tools.ts';
import { CallerGates } from '../bounds/caller-gates.ts';
import { INVOCATION_POLICY } from '../bounds/invocation-policy.ts';
import { MemoryFloor } from '../bounds/memory-floor.ts';
import { SessionBound } from '../bounds/session-bound.ts';
import type { PipelineCollaborators, PipelineOptions } from '../call-collaborators.ts';

/** What the stages work with: the collaborators and what the pipeline keeps itself. */
export interface StageContext extends PipelineCollaborators {
  readonly tools: KnownTools;
  readonly gates: CallerGates;
  readonly memory: MemoryFloor;
  readonly sessions: SessionBound;
  readonly disabledTools: readonly string[];
  readonly failOverTools: readonly string[];
  readonly resultInvalid: 'error' | 'warn';
  readonly defaultTimeoutMs: number;
  readonly maxParamsBytes: number;
  readonly isDraining: () => boolean;
  readonly sealSecret: (value: Json) => string;
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
  const { clock, time } = collaborators;
  const availableMemory = collaborators.availableMemory ?? (() => process.availableMemory());
  return {
    ...collaborators,
    tools: collaborators.tools ?? new KnownTools({ registry: collaborators.registry, self: selfOf(collaborators) }),
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
    sealSecret: collaborators.sealSecret ?? processSeal(),
    nowMs: () => (time ?? clock).now(),
    running: new WeakSet(),
    stepsLeft: new WeakMap(),
  };
}

function selfOf({ nodeId, facts }: PipelineCollaborators): { readonly id: string; readonly name: string } {
  return { id: nodeId, name: facts?.().name ?? nodeId };
}

function processSeal(): (value: Json) => string {
  const key = randomBytes(32);
  return (value) => createHmac('sha256', key).update(JSON.stringify(value)).digest('hex');
}
