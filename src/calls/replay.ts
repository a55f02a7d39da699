import type { Principal } from '../core/auth/principal.ts';
import { AtmoError, toAtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../core/json.ts';
import { silentLogger } from '../core/logger.ts';
import type { AuditLog, AuditRow, RunContext } from '../core/storage/audit-log.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import type { ToolRegistry } from '../tools/registry/tool-registry.ts';
import { hasSecrets } from '../tools/schema/secrets.ts';
import { boundedContext } from './bounded-context.ts';
import { errorHash, normalizeResult } from './request-and-answer.ts';

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
 * Calls of the journal again: pure tools that are deterministic or bounded run once more in the
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
    const replayedHash = await replayHash(tool, params, runOf(intent.content));
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

const REPLAY_PRINCIPAL: Principal = { id: 'replay', kind: 'hub', permissions: [] };

/**
 * BLAKE3, hex, of what a tool without side effects answers in the world of a run. It runs outside of the pipeline, for replay
 * and self-check alone. A failure is an answer too, and has to be the same one.
 */
export async function replayHash(tool: RegisteredTool, params: JsonObject, run: RunContext): Promise<string> {
  try {
    return normalizeResult(await runInContext(tool, params, run)).hash;
  } catch (thrown) {
    return errorHash(toAtmoError(thrown));
  }
}

function runInContext(tool: RegisteredTool, params: JsonObject, run: RunContext): Promise<Json> {
  const { clock, random } = boundedContext(run);
  return tool.handler(params, {
    principal: REPLAY_PRINCIPAL,
    agentId: REPLAY_PRINCIPAL.id,
    sessionId: run.runId,
    traceId: run.runId,
    requestId: run.runId,
    permissions: REPLAY_PRINCIPAL.permissions,
    nodeId: '',
    signal: AbortSignal.timeout(tool.definition.execution.timeoutMs),
    deadlineMs: run.logicalTimeMs + tool.definition.execution.timeoutMs,
    clock,
    run,
    random,
    logger: silentLogger,
    progress: () => {},
    confirm: () => {},
    ask: async () => {
      throw new AtmoError('NOT_SUPPORTED', 'Nobody is asked when a run is repeated');
    },
    tell: () => {},
    contentType: () => {},
    details: () => {},
  });
}

/** What two runs of a tool with the same parameters showed. */
export interface DeterminismFinding {
  readonly tool: string;
  readonly determinism: 'deterministic' | 'bounded';
  readonly runs: number;
  /** Parameters with which the two answers differed; absent when none did. */
  readonly differs?: JsonObject;
}

const CHECK_RUN: RunContext = { runId: 'self-check', logicalTimeMs: Date.UTC(2026, 0, 1), randomSeed: '00112233445566778899aabbccddeeff' };

/**
 * Runs every tool without side effects that is declared deterministic or bounded twice, with each of its examples and one
 * sample of its schema: replay depends on an honest declaration.
 */
export async function checkDeterminism(tools: readonly RegisteredTool[]): Promise<readonly DeterminismFinding[]> {
  const findings: DeterminismFinding[] = [];
  for (const tool of tools) {
    const { determinism, hasSideEffects } = tool.definition.execution;
    if (determinism !== 'nondeterministic' && !hasSideEffects) findings.push({ determinism, ...(await checkTool(tool)) });
  }
  return findings;
}

async function checkTool(tool: RegisteredTool): Promise<Omit<DeterminismFinding, 'determinism'>> {
  const { parameters, metadata } = tool.definition;
  const samples = [...metadata.examples.map((example) => example.params), sampleParams(parameters)];
  for (const params of samples) {
    const first = await replayHash(tool, params, CHECK_RUN);
    if ((await replayHash(tool, params, CHECK_RUN)) !== first) return { tool: tool.id, runs: samples.length, differs: params };
  }
  return { tool: tool.id, runs: samples.length };
}

/** The plainest parameters that a schema allows: defaults, first choices, lower bounds; only what is required. */
export function sampleParams(schema: JsonSchema): JsonObject {
  const required = Array.isArray(schema.required) ? schema.required : [];
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  return Object.fromEntries(required.map((name) => [String(name), sampleValue(properties[String(name)])]));
}

function sampleValue(schema: unknown): Json {
  if (!isJsonObject(schema)) return null;
  if (schema.const !== undefined) return schema.const;
  for (const keyword of ['examples', 'enum'] as const) {
    const choices = schema[keyword];
    if (Array.isArray(choices) && choices[0] !== undefined) return choices[0];
  }
  if (schema.default !== undefined) return schema.default;
  return sampleOfType(schema);
}

function sampleOfType(schema: JsonObject): Json {
  const [type] = [schema.type].flat();
  switch (type) {
    case 'string':
      return 'a'.repeat(Math.max(1, Number(schema.minLength ?? 1)));
    case 'number':
    case 'integer':
      return Number(schema.minimum ?? 1);
    case 'boolean':
      return true;
    case 'array':
      return Array.from({ length: Number(schema.minItems ?? 0) }, () => sampleValue(schema.items));
    case 'object':
      return sampleParams(schema);
    default:
      return null;
  }
}
