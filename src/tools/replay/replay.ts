import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { AuditLog, AuditRow } from '../../core/storage/audit-log.ts';
import type { RunContext } from '../../core/storage/audit-sink.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { hasSecrets } from '../schema/secret-params.ts';
import type { ToolRegistry } from '../tool-registry.ts';
import { answerHash } from './pure-run.ts';

/** What replay found out about a call of the past. */
export const REPLAY_VERDICTS = ['reproduced', 'differs', 'from_log', 'not_kept', 'tool_gone'] as const;
export type ReplayVerdict = (typeof REPLAY_VERDICTS)[number];

/** One call of the past, replayed. */
export interface Replayed {
  readonly request: string;
  readonly tool: string;
  readonly at: string;
  readonly verdict: ReplayVerdict;
  /** BLAKE3 of the answer then. */
  readonly recorded_hash?: string;
  /** The same of the answer now, where the tool ran again. */
  readonly replayed_hash?: string;
  readonly result?: Json;
  /** Code and message of a call that failed then. */
  readonly error?: string;
  readonly message?: string;
}

/** Which calls of the journal. Times in milliseconds since 1970. */
export interface ReplayQuery {
  readonly request?: string;
  readonly tool?: string;
  readonly sinceMs?: number;
  readonly untilMs?: number;
  readonly limit: number;
}

/**
 * Calls of the journal again (source 001, Determinism): pure tools that are deterministic or bounded run once more in the
 * world of then, and the hash of the answer has to be the same; of all others the answer is taken from the journal. No
 * tool with side effects ever runs.
 */
export async function replayCalls(
  { log, registry }: { readonly log: AuditLog; readonly registry: Pick<ToolRegistry, 'get'> },
  query: ReplayQuery,
): Promise<readonly Replayed[]> {
  const { limit, ...range } = query;
  const outcomes = log.read({ ...range, kind: 'outcome', limit });
  const replayed: Replayed[] = [];
  for (const outcome of outcomes) replayed.push(await replayCall(intentOf(log, outcome), outcome, registry));
  return replayed;
}

/** Callers choose the ids of their requests: those of another caller are none of this one's. */
function intentOf(log: AuditLog, { request = '', agent = '', tool = '', seq }: AuditRow): AuditRow {
  const [intent] = log.read({ request, agent, tool, kind: 'intent', before: seq, limit: 1 });
  if (intent) return intent;
  throw new AtmoError('NOT_FOUND', `The journal no longer has what was asked in request ${request}; ask for a later time`);
}

async function replayCall(intent: AuditRow, outcome: AuditRow, registry: Pick<ToolRegistry, 'get'>): Promise<Replayed> {
  const { result, response_hash: hash, error, message } = outcome.content;
  const base = {
    request: outcome.request ?? '',
    tool: outcome.tool ?? '',
    at: outcome.at,
    ...(typeof hash === 'string' && { recorded_hash: hash }),
    ...(typeof error === 'string' && { error }),
    ...(typeof message === 'string' && { message }),
  };
  const tool = registry.get(base.tool);
  const { params } = intent.content;
  if (tool && canReplay(tool) && isJsonObject(params)) {
    const replayedHash = await answerHash(tool, params, runOf(intent.content));
    return { ...base, verdict: replayedHash === hash ? 'reproduced' : 'differs', replayed_hash: replayedHash };
  }
  if (result !== undefined) return { ...base, verdict: 'from_log', result };
  if (typeof error === 'string') return { ...base, verdict: 'from_log' };
  return { ...base, verdict: tool ? 'not_kept' : 'tool_gone' };
}

/** Masked arguments cannot be asked again. */
function canReplay({ definition }: RegisteredTool): boolean {
  const { hasSideEffects, determinism } = definition.execution;
  return !hasSideEffects && determinism !== 'nondeterministic' && !hasSecrets(definition.parameters);
}

function runOf({ run }: JsonObject): RunContext {
  const { run_id: runId, logical_time_ms: logicalTimeMs, random_seed: randomSeed } = isJsonObject(run) ? run : {};
  return {
    runId: typeof runId === 'string' ? runId : '',
    logicalTimeMs: typeof logicalTimeMs === 'number' ? logicalTimeMs : 0,
    randomSeed: typeof randomSeed === 'string' ? randomSeed : '',
  };
}
