import type { Principal } from '../../core/access/principal.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { silentLogger } from '../../core/logger.ts';
import type { RunContext } from '../../core/storage/audit-sink.ts';
import { errorHash, normalizeResult } from '../calls/call-answer.ts';
import { boundedContext } from '../calls/stages/run-context.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';

const NOBODY: Principal = { id: 'replay', kind: 'hub', permissions: [] };

/**
 * BLAKE3, hex, of what a tool without side effects answers in the world of a run. It runs outside of the pipeline, for replay
 * and self-check alone. A failure is an answer too, and has to be the same one.
 */
export async function answerHash(tool: RegisteredTool, params: JsonObject, run: RunContext): Promise<string> {
  try {
    return normalizeResult(await runInContext(tool, params, run)).hash;
  } catch (thrown) {
    return errorHash(toAtmoError(thrown));
  }
}

function runInContext(tool: RegisteredTool, params: JsonObject, run: RunContext): Promise<Json> {
  const { clock, random } = boundedContext(run);
  return tool.handler(params, {
    principal: NOBODY,
    agentId: NOBODY.id,
    sessionId: run.runId,
    traceId: run.runId,
    requestId: run.runId,
    permissions: NOBODY.permissions,
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
