import { parseIsoTime } from '../../core/clock.ts';
import type { Json } from '../../core/json.ts';
import type { AuditLog } from '../../core/storage/audit-log.ts';
import { HUB_READS } from '../../tools/builtin/hub-tool.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { ToolRegistry } from '../../tools/registry/tool-registry.ts';
import { copyJson, RESULT_LIMITS } from '../../tools/schema/plain-json.ts';
import { checkDeterminism, replayCalls } from '../replay.ts';

/** `hub:replay_audit` and `hub:check_determinism`. */
export function replayTools(parts: { readonly log: AuditLog; readonly registry: ToolRegistry }): readonly RegisteredTool[] {
  return [replayTool(parts), checkTool(parts.registry)];
}

function replayTool(parts: { readonly log: AuditLog; readonly registry: ToolRegistry }): RegisteredTool {
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
      const calls = await replayCalls(parts, {
        limit,
        ...(request !== undefined && { request }),
        ...(tool !== undefined && { tool }),
        ...(since !== undefined && { sinceMs: parseIsoTime(since, 'since') }),
        ...(until !== undefined && { untilMs: parseIsoTime(until, 'until') }),
      });
      const differing = calls.filter(({ verdict }) => verdict === 'differs').length;
      return { calls: calls.map((call) => copyJson({ ...call }, RESULT_LIMITS)), differing };
    },
  );
}

function checkTool(registry: ToolRegistry): RegisteredTool {
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
