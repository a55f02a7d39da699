import type { Principal } from '../core/auth/principal.ts';
import { parseIsoTime } from '../core/clock.ts';
import { AtmoError, toAtmoError } from '../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema, objectOf, present } from '../core/json.ts';
import { silentLogger } from '../core/logger.ts';
import type { AuditLog, AuditRow, RunContext } from '../core/storage/audit-log.ts';
import { HUB_READS } from '../tools/builtin/hub-tool.ts';
import { defineTool, p } from '../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import type { ToolRegistry } from '../tools/registry/tool-registry.ts';
import { copyJson, RESULT_LIMITS } from '../tools/schema/plain-json.ts';
import { hasSecrets } from '../tools/schema/secrets.ts';
import { errorHash, normalizeResult } from './request-and-answer.ts';
import { boundedContext } from './tool-context.ts';

/** Possible verdicts of a replay about a past call. */
const REPLAY_VERDICTS = ['reproduced', 'differs', 'from_log', 'not_kept', 'tool_gone'] as const;
type ReplayVerdict = (typeof REPLAY_VERDICTS)[number];

interface Replayed {
  readonly request: string;
  readonly tool: string;
  readonly at: string;
  readonly verdict: ReplayVerdict;
  /** BLAKE3 of the recorded answer. */
  readonly recorded_hash?: string;
  /** BLAKE3 of the replay's answer, if the tool ran again. */
  readonly replayed_hash?: string;
  readonly result?: Json;
  /** Code and message of the error, if the recorded call failed. */
  readonly error?: string;
  readonly message?: string;
}

/** Selects calls in the audit log. Times are in milliseconds since 1970. */
interface ReplayQuery {
  readonly request?: string;
  readonly tool?: string;
  readonly sinceMs?: number;
  readonly untilMs?: number;
  readonly limit: number;
}

/**
 * Replays calls from the audit log. A deterministic or bounded tool without side effects runs again with the recorded time and random seed;
 * the hash of its answer is then compared with the recorded hash. For other tools, and if the parameters were not recorded, the recorded
 * answer is used. Tools with side effects never run.
 */
async function replayCalls(
  { log, registry }: { readonly log: AuditLog; readonly registry: Pick<ToolRegistry, 'get'> },
  query: ReplayQuery,
): Promise<readonly Replayed[]> {
  const { limit, ...range } = query;
  const outcomes = log.read({ ...range, kind: 'outcome', limit });
  const replayed: Replayed[] = [];
  for (const outcome of outcomes) replayed.push(await replayCall(intentOf(log, outcome), outcome, registry));
  return replayed;
}

/** Returns the intent row of a call: the last one before the outcome. Request ids are not unique, because callers choose them. */
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
    ...present({ recorded_hash: textOf(hash), error: textOf(error), message: textOf(message) }),
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

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Returns whether logged calls of the tool can run again. Tools with secret parameters are excluded, because the log masks secrets. */
function canReplay({ definition }: RegisteredTool): boolean {
  const { hasSideEffects, determinism } = definition.execution;
  return !hasSideEffects && determinism !== 'nondeterministic' && !hasSecrets(definition.parameters);
}

function runOf({ run }: JsonObject): RunContext {
  const { run_id: runId, logical_time_ms: logicalTimeMs, random_seed: randomSeed } = objectOf(run);
  return {
    runId: textOf(runId) ?? '',
    logicalTimeMs: typeof logicalTimeMs === 'number' ? logicalTimeMs : 0,
    randomSeed: textOf(randomSeed) ?? '',
  };
}

const REPLAY_PRINCIPAL: Principal = { id: 'replay', kind: 'hub', permissions: [] };

/**
 * Runs a tool with the time and random seed of `run`, and returns the BLAKE3 hash (hex) of its result or error. Only the replay and the
 * determinism check use this function: it runs the tool outside of the pipeline, so the tool must have no side effects.
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
    allows: () => false,
    ask: async () => {
      throw new AtmoError('NOT_SUPPORTED', 'A repeated run asks nobody');
    },
    tell: () => {},
    contentType: () => {},
    details: () => {},
  });
}

/** The result of comparing two runs of a tool with equal parameters. */
export interface DeterminismFinding {
  readonly tool: string;
  readonly determinism: 'deterministic' | 'bounded';
  readonly runs: number;
  /** Parameters for which the two answers differed. Absent if the answers were equal for all parameters. */
  readonly differs?: JsonObject;
}

const CHECK_RUN: RunContext = { runId: 'self-check', logicalTimeMs: Date.UTC(2026, 0, 1), randomSeed: '00112233445566778899aabbccddeeff' };

/**
 * Checks whether tools are as deterministic as they declare, because the replay relies on it. Checks the deterministic and the bounded
 * tools that have no side effects. Each tool runs twice with each of its examples, and twice with sample parameters from its schema.
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

/** Returns sample parameters for a schema: a value for each required field, such as its first example or its default. */
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

type ReplayToolParts = { readonly log: AuditLog; readonly registry: ToolRegistry };

/** Returns `hub:replay_audit` and `hub:check_determinism`. */
export function replayTools(parts: ReplayToolParts): readonly RegisteredTool[] {
  return [replayTool(parts), determinismTool(parts.registry)];
}

function replayTool(parts: ReplayToolParts): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      name: 'replay_audit',
      title: 'Replay calls of the journal',
      description:
        'Replays calls of the past: pure tools that are deterministic or bounded run again and have to give the same answer; of all others the answer is shown from the journal. Nothing that acts is done again.',
      permissions: ['admin:audit'],
      isAsyncAllowed: true,
      timeoutMs: 120_000,
      parameters: {
        request: p.string({ description: 'Only the call with this request id', maxLength: 128 }).optional(),
        tool: p.string({ description: 'Only calls of this tool: its id, or its name', maxLength: 160 }).optional(),
        since: p.string({ description: 'Only calls from this time on', format: 'date-time' }).optional(),
        until: p.string({ description: 'Only calls until this time', format: 'date-time' }).optional(),
        limit: p.integer({ description: 'At most this many calls, the newest', minimum: 1, maximum: 1_000, default: 100 }),
      },
      returns: {
        type: 'object',
        required: ['calls', 'differing'],
        properties: { calls: { type: 'array', items: { type: 'object' } }, differing: { type: 'integer' } },
      },
    },
    async ({ request, tool, since, until, limit }): Promise<Json> => {
      const sinceMs = since === undefined ? undefined : parseIsoTime(since, 'since');
      const untilMs = until === undefined ? undefined : parseIsoTime(until, 'until');
      const calls = await replayCalls(parts, present({ limit, request, tool, sinceMs, untilMs }));
      const differing = calls.filter(({ verdict }) => verdict === 'differs').length;
      return { calls: calls.map((call) => copyJson({ ...call }, RESULT_LIMITS)), differing };
    },
  );
}

function determinismTool(registry: ToolRegistry): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      name: 'check_determinism',
      title: 'Check declared determinism',
      description: 'Runs every tool that is declared deterministic or bounded twice and tells which do not answer the same.',
      permissions: ['admin:hub'],
      timeoutMs: 60_000,
      parameters: {},
      returns: {
        type: 'object',
        required: ['checked', 'dishonest'],
        properties: { checked: { type: 'integer' }, dishonest: { type: 'array', items: { type: 'object' } } },
      },
    },
    async (): Promise<Json> => {
      const findings = await checkDeterminism(registry.all());
      const dishonest = findings.filter(({ differs }) => differs !== undefined);
      return { checked: findings.length, dishonest: dishonest.map((finding) => copyJson({ ...finding }, RESULT_LIMITS)) };
    },
  );
}
