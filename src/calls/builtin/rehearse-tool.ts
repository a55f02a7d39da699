import type { Json, JsonSchema } from '../../core/json.ts';
import { defineTool, OBJECTS, p, resultSchema, TEXT, TEXTS } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { copyJson, RESULT_LIMITS } from '../../tools/schema/plain-json.ts';
import { CONFLICT_CAUSES } from '../coming-conflicts.ts';
import { REHEARSAL_OUTCOMES, type ToolCaller } from '../request-and-answer.ts';

/** Schema of a rehearsal. */
export const REHEARSAL_SCHEMA = resultSchema(
  {
    tool: TEXT,
    outcome: {
      enum: REHEARSAL_OUTCOMES,
      description: 'not_known: only another hub, or a result of an earlier step, could tell',
    },
    error: { type: 'object', description: 'The error with which the call would be refused' },
    risk: { enum: ['none', 'low', 'medium', 'dangerous'] },
    effects: { ...OBJECTS, description: 'target, permission and risk of each effect' },
    changes: {
      type: 'array',
      description: 'What becomes of the values of devices',
      items: resultSchema(
        {
          device_id: TEXT,
          name: TEXT,
          unit: TEXT,
          now: { description: 'Absent if it is not known' },
          expected: { description: 'Absent if nobody can tell' },
          unforeseen: { const: true },
        },
        ['now', 'expected', 'unforeseen'],
      ),
    },
    places: { ...TEXTS, description: 'What else changes and undo brings back, such as flag/vacation_mode' },
    approval: resultSchema({ persons: { type: 'integer' }, reason: TEXT }),
    rule: { ...TEXT, description: 'The rule of the owner that decides' },
    limits: { ...OBJECTS, description: 'Rate limits of which at most a tenth is left' },
    skipped: { ...OBJECTS, description: 'Devices that would be left out, with the reason' },
    calls: { ...OBJECTS, description: 'The same for each call inside it' },
    conflicts: {
      type: 'array',
      description: 'What automations will do within the hour to what it sets: at_time or after_wait; if_set_off by the call itself',
      items: resultSchema(
        {
          when: { enum: CONFLICT_CAUSES },
          certain: { type: 'boolean' },
          device_id: TEXT,
          agent_id: TEXT,
          name: TEXT,
          at: TEXT,
          does: TEXT,
          sentence: TEXT,
        },
        ['agent_id', 'name', 'at', 'does'],
      ),
    },
    undo: resultSchema({ possible: { type: 'boolean' }, reason: TEXT }, ['reason']),
    node_id: { ...TEXT, description: 'The other hub that would run it' },
  },
  ['error', 'places', 'approval', 'rule', 'conflicts', 'node_id'],
) satisfies JsonSchema;

/** Returns the tool `hub:rehearse`. `pipeline` is a function because the pipeline is created after the registry that contains this tool. */
export function rehearseTool(pipeline: () => Pick<ToolCaller, 'rehearse'>): RegisteredTool {
  return defineTool(
    {
      namespace: 'hub',
      name: 'rehearse',
      title: 'Rehearse a call',
      description:
        'Tells what a call would do without doing it: the changes, the approval or refusal that it would meet, what automations will do against it within the hour, and whether it can be undone.',
      category: 'querying',
      hasSideEffects: false,
      preferLocal: true,
      tags: ['rehearse', 'dry run', 'preview', 'what if', 'undo'],
      parameters: {
        tool: p.string({ description: 'Name of the tool', minLength: 1, maxLength: 160 }),
        params: p.record({ description: 'Its parameters', secretMembers: true }).optional(),
      },
      returns: REHEARSAL_SCHEMA,
      examples: [{ description: 'What would the echo do?', params: { tool: 'echo', params: { value: 1 } } }],
    },
    async ({ tool, params = {} }, { principal, traceId, sessionId, signal }): Promise<Json> => {
      return copyJson(await pipeline().rehearse({ principal, tool, params, traceId, sessionId, signal }), RESULT_LIMITS);
    },
  );
}
