import type { RunContext } from '../../core/audit-sink.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { silentLogger } from '../../core/logger.ts';
import type { Principal } from '../../core/principal.ts';
import { boundedContext } from '../calls/run-context.ts';
import type { RegisteredTool } from '../tool-definition.ts';

const NOBODY: Principal = { id: 'replay', kind: 'hub', permissions: [] };

/** Runs a tool without side effects outside of the pipeline, in the world of a run: for replay and self-check alone. */
export function runInContext(tool: RegisteredTool, params: JsonObject, run: RunContext): Promise<Json> {
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
  });
}
