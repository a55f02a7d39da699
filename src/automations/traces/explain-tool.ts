import { parseIsoTime } from '../../core/clock.ts';
import type { ReadingStore } from '../../core/devices/sensor-readings.ts';
import { AtmoError, invalidInput } from '../../core/errors.ts';
import { nextLocalTime } from '../../core/local-time.ts';
import { defineTool, INSTANT, INTEGER, p, resultSchema, TEXT } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { AgentRunner } from '../agent-runner.ts';
import type { CheckPorts } from '../automation-ports.ts';
import { agentIdParameter, unknownAutomation } from '../definition-parameters.ts';
import type { HouseState } from '../house/house.ts';
import { CLOCK_TIME } from '../plan/schema-parts.ts';
import { type Explained, explain } from './explain.ts';
import { TRACE_CAUSES, TRACE_OUTCOMES } from './trace.ts';
import type { TraceLog } from './trace-log.ts';
import { type MomentView, momentJson, viewOf } from './trace-view.ts';
import { sentenceOf, sentenceOfAll } from './trace-words.ts';

/** The parts of the hub that explain an automation. */
export interface ExplainToolPorts extends CheckPorts {
  readonly traces: Pick<TraceLog, 'read'>;
  readonly readings: Pick<ReadingStore, 'current' | 'history'>;
  readonly house: HouseState;
}

const DEFAULT_LIMIT = 20;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * HOUR_MS;
const TIME_OF_DAY = new RegExp(CLOCK_TIME.pattern);
const DURATION = /^(\d{1,6})\s*(s|m|min|h|d)$/;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: MINUTE_MS, min: MINUTE_MS, h: HOUR_MS, d: DAY_MS };

const MOMENT = {
  summary: { ...TEXT, description: 'Why, in one sentence' },
  outcome: { enum: TRACE_OUTCOMES },
  cause: { enum: TRACE_CAUSES },
  at: INSTANT,
  count: INTEGER,
  last_at: INSTANT,
  trigger: { type: 'object', description: 'The trigger that it is about, with the names of its sensor and device' },
  condition: { type: 'object', description: 'The condition that did not hold' },
  conditions: { type: 'array', description: 'All conditions that kept it from running, each with what it saw' },
  value: { description: 'What the sensor, flag or person of the condition or the trigger showed' },
  unit: TEXT,
  step: { ...TEXT, description: 'Place of the step that failed or waits, such as 1/options/0/2' },
  trace_id: { ...TEXT, description: 'Trace id of the run in the journal' },
  facts: { type: 'object', description: 'What else is known, by which the cause can be told in any language' },
  id: INTEGER,
} as const;
const OPTIONAL = ['last_at', 'trigger', 'condition', 'conditions', 'value', 'unit', 'step', 'trace_id', 'id'] as const;

/** Returns `explain_automation`, which says why an automation ran or did not run. */
export function explainAutomationTool(runner: AgentRunner, ports: ExplainToolPorts): RegisteredTool {
  return defineTool(
    {
      name: 'explain_automation',
      title: 'Say why an automation ran or did not run',
      description:
        'Says in one sentence why an automation ran or did not run lately or at a moment: the condition with its value, the cooldown, the step that failed, what the sensor showed. Values of sensors that the caller may not read are left out. Traces are kept for 30 days.',
      category: 'managing',
      capabilities: ['agent_runtime'],
      permissions: ['agent:configure:{agent_id}'],
      hasSideEffects: false,
      preferLocal: true,
      tags: ['automation', 'why', 'trace', 'debug', 'explain'],
      parameters: {
        agent_id: agentIdParameter('Id of the automation, as list_automations tells it'),
        at: p
          .string({
            description:
              'When: a time of the last 24 hours such as 18:02, an ISO time, or how long ago, such as 30m or 2h; lately when absent',
            maxLength: 40,
          })
          .optional(),
        limit: p.integer({ description: 'Most traces in the answer; 20 when absent', minimum: 1, maximum: 100 }).optional(),
      },
      returns: resultSchema(
        {
          ...MOMENT,
          traces: { type: 'array', items: resultSchema(MOMENT, OPTIONAL), description: 'What happened around it, newest first' },
        },
        OPTIONAL,
      ),
    },
    async ({ agent_id: id, at, limit = DEFAULT_LIMIT }, { principal }) => {
      const atMs = at === undefined ? undefined : momentOf(at, ports);
      const { best, traces } = explain(subjectOf(id, runner), atMs, ports);
      const view = (moment: Parameters<typeof viewOf>[0]) => viewOf(moment, { agentId: id, principal, ports });
      const shown = best.map(view).filter((one) => one !== undefined);
      const listed = traces.map(view).filter((one) => one !== undefined);
      const [first = nothingShown(atMs ?? ports.clock.now())] = shown;
      return {
        ...momentJson(first, sentenceOfAll(shown.length > 0 ? shown : [first], ports)),
        traces: listed.slice(0, limit).map((one) => momentJson(one, sentenceOf(one, ports))),
      };
    },
  );
}

/** What is said if all that is known is about what the caller may not look at. */
function nothingShown(atMs: number): MomentView {
  const moment = { cause: 'nothing_came', facts: {}, atMs, lastMs: atMs, count: 1 } as const;
  return { moment, trigger: undefined, unmet: [], facts: {}, isHidden: true };
}

function subjectOf(id: string, runner: AgentRunner): Explained {
  const record = runner.directory.records().find((one) => one.id === id);
  if (!record) throw unknownAutomation(id);
  if (record.type !== 'automation') throw new AtmoError('NOT_SUPPORTED', `${id} is a process elsewhere: the hub does not know why it acts`);
  return { record, plan: runner.directory.planOf(record), activity: runner.activityOf(record) };
}

/** Returns the moment of an ISO time, of a time of day within the last 24 hours or of a duration before now, in milliseconds since 1970. */
function momentOf(text: string, { clock, timeZone }: Pick<ExplainToolPorts, 'clock' | 'timeZone'>): number {
  const nowMs = clock.now();
  if (TIME_OF_DAY.test(text)) return nextLocalTime({ at: text, timeZone }, nowMs - DAY_MS) ?? nowMs;
  const [, count, unit = ''] = DURATION.exec(text) ?? [];
  const atMs = count === undefined ? parseIsoTime(text, 'at') : nowMs - Number(count) * (UNIT_MS[unit] ?? 0);
  if (atMs <= nowMs) return atMs;
  throw invalidInput('at lies in the future; write a time that has passed, such as 30m for half an hour ago');
}
