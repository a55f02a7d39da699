import { CallPipeline } from '../../src/calls/pipeline.ts';
import type { CallRequest } from '../../src/calls/request-and-answer.ts';

/** Number of calls by who made them. */
export type PipelineCalls = Readonly<Record<string, number>>;

const counts = new Map<string, number>();

/** Counts the calls that the pipelines of all hubs take from now on. Checks of calls that never run do not count. */
export function countPipelineCalls(): void {
  counts.clear();
}

/** Returns the calls since `countPipelineCalls`. A call that is passed on to another hub counts at both. */
export function pipelineCalls(): PipelineCalls {
  return Object.fromEntries([...counts].toSorted(([, a], [, b]) => b - a));
}

for (const name of ['call', 'callAsync'] as const) {
  const real: (this: CallPipeline, request: CallRequest) => unknown = CallPipeline.prototype[name];
  Reflect.set(CallPipeline.prototype, name, function counted(this: CallPipeline, request: CallRequest) {
    const caller = callerOf(request);
    counts.set(caller, (counts.get(caller) ?? 0) + 1);
    return real.call(this, request);
  });
}

function callerOf({ within, isOwn, onDispatch, principal }: CallRequest): string {
  if (within) return 'steps';
  if (isOwn) return 'automations';
  // A client could ask for that too, by a stream of its answer, but no client of the simulation does.
  if (onDispatch) return 'other hubs';
  return principal.kind === 'owner' ? 'people' : 'agents';
}
