import { excessPermissions } from '../../core/auth/permission.ts';
import type { Principal } from '../../core/auth/principal.ts';
import { isoTime } from '../../core/clock.ts';
import { parseSensorId } from '../../core/devices/device-names.ts';
import { toAtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { WRITTEN_LINE } from '../../core/untrusted-text.ts';
import { defineTool, INSTANT, INTEGER, p, resultSchema, TEXT, TEXTS } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { callerView, canSeeTool } from '../../tools/definition/tool-permissions.ts';
import { copyJsonObject } from '../../tools/schema/plain-json.ts';
import type { CheckToolPorts } from '../automation-ports.ts';
import { fullAutomationView } from '../automation-view.ts';
import { conflictsWith } from '../check/automation-check.ts';
import { FINDINGS } from '../check/finding.ts';
import { agentIdParameter, DIFFERENCES, HASH, ONE_PERMISSION, permissionsParameter } from '../definition-parameters.ts';
import { unitOfParam } from '../plain-unit.ts';
import { parseAutomation } from '../plan/parse-automation.ts';
import { type AutomationPlan, CONFIG_SCHEMA } from '../plan/plan-schema.ts';
import { DISPLAY_NAME } from '../plan/schema-parts.ts';
import { CallWording } from '../replay/call-wording.ts';
import { idPartOf } from '../spawn-checks.ts';
import { differences } from '../versions/definition.ts';
import { presentVersion } from '../versions/version-store.ts';
import { definitionWords } from './definition-words.ts';
import type { Proposal } from './proposal-store.ts';
import { type Proposals, sharedPermissions } from './proposals.ts';

/** What the tools of proposals need. */
interface ProposalToolPorts {
  readonly proposals: Proposals;
  readonly tools: CheckToolPorts;
}

/** A proposal with its plan. */
type ReadProposal = Proposal & { readonly plan: AutomationPlan };

const ABOUT = { category: 'managing', capabilities: ['agent_runtime'], preferLocal: true } as const;
const proposalId = p.string({ description: 'Id of the proposal, as list_automation_proposals tells it', minLength: 1, maxLength: 64 });

/** Returns the tools with which agents propose automations and people answer. */
export function proposalTools(ports: ProposalToolPorts): readonly RegisteredTool[] {
  return [proposeTool(ports), listTool(ports), acceptTool(ports), declineTool(ports)];
}

function proposeTool(ports: ProposalToolPorts): RegisteredTool {
  return defineTool(
    {
      ...ABOUT,
      name: 'propose_automation',
      title: 'Propose an automation',
      description:
        'Proposes an automation to the people of the house, or a change of one. It lives only when a person accepts it, and may then do more than the proposer. It can name only what the proposer may see.',
      permissions: ['agent:propose'],
      hasSideEffects: true,
      timeoutMs: 10_000,
      tags: ['automation', 'suggest', 'rule', 'schedule'],
      parameters: {
        name: p.string({ description: 'Name for people', minLength: 1, maxLength: 64, pattern: DISPLAY_NAME }),
        sentence: p
          .string({
            description: 'Why it is good for them, in one sentence; people see it as the words of the proposer',
            maxLength: 200,
            pattern: WRITTEN_LINE,
          })
          .optional(),
        config: { ...p.record({ description: 'What it would do, as for spawn_agent' }), schema: CONFIG_SCHEMA },
        permissions: permissionsParameter('What it would be allowed: what it needs and no more', { example: ONE_PERMISSION, minItems: 1 }),
        replaces: agentIdParameter('Id of the automation that it would replace').optional(),
      },
      returns: resultSchema(
        {
          proposal_id: TEXT,
          hash: HASH,
          ends_at: INSTANT,
          conflicts: { ...FINDINGS, description: 'What may go wrong with it, as far as the proposer itself may do it' },
        },
        ['conflicts'],
      ),
    },
    async (request, { principal }) => {
      const proposal = ports.proposals.propose(request, principal);
      const { id, hash, endsAtMs } = proposal;
      const plan = parseAutomation(proposal.config, ports.tools.check.validator);
      return copyJsonObject({
        proposal_id: id,
        hash,
        ends_at: isoTime(endsAtMs),
        conflicts: await conflictsFor({ ...proposal, plan }, principal, ports),
      });
    },
  );
}

function listTool(ports: ProposalToolPorts): RegisteredTool {
  return defineTool(
    {
      ...ABOUT,
      name: 'list_automation_proposals',
      title: 'List proposed automations',
      description:
        'Lists the automations that agents propose, with what each does in words, its permissions and conflicts. Agents see their own, with the answers.',
      hasSideEffects: false,
      timeoutMs: 30_000,
      tags: ['automation', 'proposal', 'suggestion'],
      parameters: {},
      returns: resultSchema({
        proposals: {
          type: 'array',
          items: {
            type: 'object',
            required: ['proposal_id', 'name', 'by', 'at', 'ends_at', 'hash', 'state', 'words', 'permissions'],
            properties: {
              proposal_id: TEXT,
              name: TEXT,
              by: { ...TEXT, description: 'Who proposes it' },
              at: INSTANT,
              ends_at: INSTANT,
              hash: HASH,
              permissions: TEXTS,
              sentence: { ...TEXT, description: 'Words of the agent, not of the hub' },
              state: { enum: ['open', 'accepted', 'declined'] },
              words: { ...TEXTS, description: 'What it does, made of the definition alone' },
              named: { type: 'array', items: resultSchema({ kind: TEXT, id: TEXT, name: TEXT }), description: 'Names of what it names' },
              runs_until: {
                ...INSTANT,
                description: 'When it would end if the caller accepted it: with its sign-in; absent if it would not',
              },
              beyond: { ...TEXTS, description: 'Permissions that the caller does not have, so that it cannot accept' },
              config: { type: 'object', 'x-secret-members': true },
              actions: { type: 'array', 'x-secret-members': true, description: 'Its steps, calls with their parameters and units' },
              diff: { ...DIFFERENCES, description: 'What differs from the automation that it would replace' },
              conflicts: FINDINGS,
            },
          },
        },
      }),
    },
    async (_params, { principal }) => {
      const proposals: JsonObject[] = [];
      for (const proposal of ports.proposals.list(principal)) {
        const plan = ports.tools.agents.planOf(proposal);
        // One that this version of the hub cannot read could not be accepted either.
        if (plan) proposals.push(await proposalView({ ...proposal, plan }, principal, ports));
      }
      return { proposals };
    },
  );
}

function acceptTool({ proposals }: ProposalToolPorts): RegisteredTool {
  return defineTool(
    {
      ...ABOUT,
      name: 'accept_automation',
      title: 'Accept a proposed automation',
      description:
        'For people: lets a proposed automation live, with the permissions that were shown. It counts for the definition with this hash alone.',
      permissions: ['agent:spawn'],
      hasSideEffects: true,
      isDestructive: true,
      ruledLike: ['spawn_agent'],
      timeoutMs: 10_000,
      tags: ['automation', 'proposal', 'approve'],
      parameters: {
        proposal_id: proposalId,
        hash: p.string({ description: 'Hash of the definition that was looked at', pattern: '^[0-9a-f]{64}$' }),
      },
      returns: resultSchema({ agent_id: TEXT, version: INTEGER }),
    },
    async ({ proposal_id: id, hash }, { principal }) => {
      const record = proposals.accept(id, hash, principal);
      return { agent_id: record.id, version: presentVersion(record).number };
    },
  );
}

function declineTool({ proposals }: ProposalToolPorts): RegisteredTool {
  return defineTool(
    {
      ...ABOUT,
      name: 'decline_automation',
      title: 'Decline a proposed automation',
      description: 'For people: takes a proposed automation off the list. The agent that proposed it sees the reason.',
      permissions: ['agent:spawn'],
      hasSideEffects: true,
      tags: ['automation', 'proposal', 'reject'],
      parameters: {
        proposal_id: proposalId,
        reason: p.string({ description: 'Why, for the agent', maxLength: 200, pattern: WRITTEN_LINE }).optional(),
      },
      returns: resultSchema({ success: { const: true } }),
    },
    async ({ proposal_id: id, reason }, { principal }) => {
      proposals.decline(id, reason, principal);
      return { success: true };
    },
  );
}

async function proposalView(proposal: ReadProposal, by: Principal, ports: ProposalToolPorts): Promise<JsonObject> {
  const { id, name, sentence, by: proposer, atMs, endsAtMs, hash, replaces, config, permissions, answer, plan } = proposal;
  const former = ports.proposals.replacedBy(proposal, by);
  const endMs = ports.proposals.endFor(proposal, by);
  return copyJsonObject({
    proposal_id: id,
    name,
    sentence,
    by: proposer,
    at: isoTime(atMs),
    ends_at: isoTime(endsAtMs),
    state: answer?.kind ?? 'open',
    answered_by: answer?.by,
    reason: answer?.reason,
    agent_id: answer?.agentId,
    hash,
    replaces: replaces?.id,
    diff: former && differences(former, proposal),
    config,
    ...fullAutomationView(plan, by, ports.tools),
    words: wordsOf(proposal, by, ports),
    permissions,
    named: namedFor(proposal, by, ports),
    beyond: excessPermissions(permissions, by.permissions),
    runs_until: endMs === undefined || answer ? undefined : isoTime(endMs),
    conflicts: answer ? [] : await conflictsFor(proposal, by, ports),
  });
}

/** Returns the names of today of what a proposal names, as far as the viewer may see it. */
function namedFor({ named }: Proposal, by: Principal, { tools: { things, authorizer } }: ProposalToolPorts): readonly JsonObject[] {
  const caller = callerView(by, authorizer);
  return named.flatMap(({ kind, id }) => {
    const name = things.nameFor(kind, id, caller);
    return name === undefined ? [] : [{ kind, id, name }];
  });
}

/** Returns what a proposal does in words, as far as the viewer may do the same. */
function wordsOf(proposal: ReadProposal, by: Principal, { tools }: ProposalToolPorts): readonly string[] {
  const { check, things, authorizer } = tools;
  const caller = callerView(by, authorizer);
  const principal = candidateFor(proposal, by);
  const calls = new CallWording(check);
  return definitionWords(proposal.plan, {
    nameOf: (kind, id) => {
      const name = things.nameFor(kind, id, caller);
      return name === undefined || name === id ? id : `${JSON.stringify(name)} [${id}]`;
    },
    callText: ({ tool, params }) => calls.wordsOf({ tool, params, principal }),
    unitOfSensor: (id) =>
      things.nameFor('sensor', id, caller) === undefined ? undefined : check.readings.current(parseSensorId(id))?.sensor.unit,
    unitOfParam: (tool, param) => unitOfParam(visibleTool(tool, principal, tools), param),
  });
}

/** Returns the tool with a name if the viewer may see it; undefined if there is none, or more than one. */
function visibleTool(name: string, viewer: Principal, { registry, authorizer }: CheckToolPorts): RegisteredTool | undefined {
  try {
    return registry.find(name, { isVisible: (one) => canSeeTool(one, viewer, authorizer) });
  } catch {
    return undefined;
  }
}

/** Returns the automation as far as the viewer may do the same: the rest would show what the viewer may not see. */
function candidateFor({ name, ...proposal }: Proposal, by: Principal): Principal {
  return { id: idPartOf(name, 'automation'), kind: 'agent', permissions: sharedPermissions(proposal, by) };
}

/** Findings that say nothing about an automation with fewer permissions than it would have. */
const ABOUT_PERMISSIONS: readonly unknown[] = ['lacks_permission', 'ends_before'];

/** Returns what may go wrong with a proposal; undefined if the check fails, which is only logged: the proposal waits all the same. */
async function conflictsFor(
  proposal: ReadProposal,
  by: Principal,
  { tools }: ProposalToolPorts,
): Promise<readonly JsonObject[] | undefined> {
  const principal = candidateFor(proposal, by);
  const { name, permissions, replaces, plan } = proposal;
  const isWhole = excessPermissions(permissions, by.permissions).length === 0;
  try {
    const found = await conflictsWith({ id: replaces?.id ?? principal.id, name, plan, principal }, by, tools);
    return isWhole ? found : found.filter(({ kind }) => !ABOUT_PERMISSIONS.includes(kind));
  } catch (thrown) {
    const { code, message } = toAtmoError(thrown);
    tools.logger.warn('automation.not_checked', { proposal_id: proposal.id, code, problem: message });
    return undefined;
  }
}
