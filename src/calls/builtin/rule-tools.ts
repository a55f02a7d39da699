import type { Principal, RuleVerdict } from '../../core/auth/principal.ts';
import { type KnownNames, type RuleAdministration, shownValues } from '../../core/auth/rules.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { HUB_READS } from '../../tools/builtin/hub-tool.ts';
import { defineTool, INTEGER, p, resultSchema, TEXT, TEXTS } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { ToolDirectory } from '../../tools/registry/tool-directory.ts';
import { copyJsonObject, RESULT_LIMITS } from '../../tools/schema/plain-json.ts';
import { type CallPreviewPorts, previewCalls } from '../call-preview.ts';

export interface RuleToolPorts extends CallPreviewPorts {
  readonly rules: RuleAdministration;
  readonly registry: Pick<ToolDirectory, 'resolve' | 'all'>;
  readonly devices: Pick<DeviceDirectory, 'list'>;
}

const FOR_RULES = { ...HUB_READS, permissions: ['admin:rules'] } as const;
const EFFECT = { enum: ['allow', 'deny', 'approve'] } as const;
const RULE_NAME = { type: 'string', description: 'Rule that decides; absent where the default does' } as const;

/** Returns two tools: `hub:list_rules` lists the current rules, and `hub:test_rules` returns the rules' verdict about a call. */
export function ruleTools(ports: RuleToolPorts): readonly RegisteredTool[] {
  return [listRulesTool(ports), testRulesTool(ports)];
}

function listRulesTool(ports: RuleToolPorts): RegisteredTool {
  return defineTool(
    {
      ...FOR_RULES,
      name: 'list_rules',
      title: "List the owner's rules",
      description: 'Lists the rules that hold now, in the order in which they are asked, and what may be wrong with them.',
      tags: ['rules', 'safety', 'policy'],
      parameters: {},
      returns: {
        type: 'object',
        required: ['file', 'timezone', 'default', 'rules', 'warnings'],
        properties: {
          file: { type: 'string' },
          hash: { type: 'string', description: 'SHA-256 of the file' },
          timezone: { type: 'string' },
          default: { enum: ['allow', 'deny'], description: 'What agents may do that no rule speaks of' },
          rules: {
            type: 'array',
            items: resultSchema({ name: TEXT, effect: EFFECT, when: { type: 'object', description: 'Its conditions' }, line: INTEGER }),
          },
          problem: { type: 'string', description: 'Why the file as it is now was refused; the rules from before hold on' },
          warnings: { type: 'array', items: resultSchema({ line: INTEGER, message: TEXT }) },
        },
      },
    },
    async () => copyJsonObject({ ...ports.rules.list(), warnings: ports.rules.warnings(knownNames(ports)) }, RESULT_LIMITS),
  );
}

function testRulesTool(ports: RuleToolPorts): RegisteredTool {
  return defineTool(
    {
      ...FOR_RULES,
      name: 'test_rules',
      // The parameters are not logged: they may contain secrets (such as a PIN) that only the tested tool's schema marks as secret.
      audit: { logParams: false, logResult: false },
      title: "Try the owner's rules",
      description:
        'Tells which of the rules would decide about a call, and why, for each thing that the call would do, its steps included. Nothing runs. Permissions are not looked at.',
      tags: ['rules', 'safety', 'dry run'],
      parameters: {
        tool: p.string({ description: 'Name of the tool', maxLength: 160 }),
        params: p.record({ description: 'Its parameters', default: {}, secretMembers: true }),
        agent: p.string({ description: 'Agent that would call; the owner when absent', minLength: 1, maxLength: 256 }).optional(),
        at: p
          .string({ description: 'When, such as 22:30, "fri 22:30" or 2026-01-31T22:30:00Z; now when absent', maxLength: 40 })
          .optional(),
      },
      returns: {
        type: 'object',
        required: ['tool', 'verdict', 'dangerous', 'effects'],
        properties: {
          tool: { type: 'string' },
          at: { type: 'string', description: 'Day and time that were assumed; absent while the clock cannot be believed' },
          verdict: {
            type: 'object',
            required: ['kind'],
            properties: { kind: EFFECT, rule: RULE_NAME, reason: { type: 'string' }, persons: { type: 'integer' } },
          },
          dangerous: { type: 'boolean', description: 'Whether a person has to approve the call even where the rules allow it' },
          judged_later: {
            type: 'array',
            items: { type: 'string' },
            description: 'Steps whose effects depend on results of earlier ones; the rules look at these when they run',
          },
          effects: {
            type: 'array',
            items: {
              type: 'object',
              required: ['tool', 'decision', 'because'],
              properties: { tool: { type: 'string' }, decision: EFFECT, rule: RULE_NAME, because: TEXTS },
            },
          },
        },
      },
      examples: [
        {
          description: 'May a light go on at night?',
          params: { tool: 'turn_on_light', params: { device_id: '<device id>' }, at: '23:00' },
        },
      ],
    },
    async ({ tool, params, agent, at }, { principal }) => {
      const calls = previewCalls(ports, { tool, params, viewer: principal });
      const trials = calls.map((call) => ({ call, trial: ports.rules.test({ ...call, principal: callerOf(agent) }, at) }));
      const [whole] = trials;
      const later = calls.filter(({ isKnown }) => !isKnown).map(({ toolId }) => toolId);
      const answer = {
        tool: whole?.call.toolId ?? tool,
        ...(whole?.trial.at !== undefined && { at: whole.trial.at }),
        verdict: strictest(trials.map(({ trial }) => trial.verdict)),
        effects: trials.flatMap(({ call, trial }) => trial.effects.map((effect) => ({ tool: call.toolId, ...effect }))),
        dangerous: calls.some(({ effects }) => effects.some(({ risk }) => risk === 'dangerous')),
        ...(later.length > 0 && { judged_later: later }),
      };
      return copyJsonObject(answer, RESULT_LIMITS);
    },
  );
}

/** Returns the strictest verdict. The order is: denial, approval by many persons, approval by few persons, permission. */
function strictest(verdicts: readonly RuleVerdict[]): RuleVerdict {
  const personsOf = (verdict: RuleVerdict) => (verdict.kind === 'approve' ? verdict.persons : 0);
  const asking = verdicts.toSorted((a, b) => personsOf(b) - personsOf(a)).find(({ kind }) => kind === 'approve');
  return verdicts.find(({ kind }) => kind === 'deny') ?? asking ?? verdicts[0] ?? { kind: 'allow' };
}

/** Returns the principal for which rules are tested: the given agent, or the owner by default. Rules use only its id and kind. */
function callerOf(agent: string | undefined): Principal {
  if (agent === undefined) return { id: 'owner', kind: 'owner', permissions: [] };
  return { id: agent, kind: 'agent', permissions: [] };
}

function knownNames({ devices, registry }: RuleToolPorts): Omit<KnownNames, 'types'> {
  const list = devices.list();
  const tools = registry.all();
  return {
    devices: list.map(({ id }) => id),
    areas: list.flatMap(({ area }) => area ?? []),
    values: [...new Set(tools.flatMap(({ definition }) => shownValues(definition.returns)))],
    tools: tools.flatMap(({ definition: { namespace, name }, aliases = [] }) => [name, ...aliases].map((one) => `${namespace}:${one}`)),
  };
}
