import { toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, textsOf } from '../../core/json.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import { cellText } from '../terminal/text-table.ts';
import { toolCommand } from '../tool-command.ts';
import { configIn, conflictText, namedPermissions, replayLines } from './agents.ts';

const PROPOSAL = { name: 'PROPOSAL', help: 'id of the proposal, as agent proposals lists it', param: 'proposal_id' } as const;

const propose: Command = {
  name: 'agent propose',
  summary: 'for agents: propose an automation to the people of the house',
  examples: ["agent propose 'Cool evening' --config cool.yaml --allow device:control:fan --sentence 'It gets hot in there'"],
  operands: [
    { name: 'NAME', help: 'its name for people' },
    { name: 'PERMISSION', help: 'more of what --allow began', isOptional: true, isRepeated: true },
  ],
  options: {
    config: { value: 'FILE', help: 'what it would do, JSON or YAML (docs/automations.md), or - for stdin' },
    allow: { value: 'PERMISSION', help: 'what it would be allowed, such as device:control:DEVICE; may be repeated', isRepeated: true },
    sentence: { value: 'TEXT', help: 'why it is good for them; people see it as your words' },
    replaces: { value: 'ID', help: 'the automation that it would replace' },
  },
  async run(call) {
    const answer = objectOf(await call.hub.call('propose_automation', await proposalParams(call)));
    const note = `proposal ${answer.proposal_id} waits for a person until ${answer.ends_at}`;
    call.output.answer(answer, () => `${[note, ...objectsIn(answer, 'conflicts').map(conflictText)].join('\n')}\n`);
  },
};

const proposals: Command = {
  name: 'agent proposals',
  summary: 'automations that agents propose: what each does, what it may do, and what may go wrong',
  examples: ['agent proposals', 'agent proposals --past'],
  options: {
    past: { help: 'also say when each would have run in the past month, from what the hub kept; of more than six, one takes ten seconds' },
  },
  async run(call) {
    const answer = await call.hub.call('list_automation_proposals', {});
    const listed: JsonObject[] = [];
    for (const proposal of objectsIn(answer, 'proposals')) listed.push(call.isSet('past') ? await withPast(proposal, call) : proposal);
    const text = () => (listed.length === 0 ? 'nothing is proposed\n' : `${listed.map(proposalText).join('\n\n')}\n`);
    call.output.answer({ ...objectOf(answer), proposals: listed }, text);
  },
};

/** Returns a proposal that waits with what it would have done in the past month, or with why that is not known. */
async function withPast(proposal: JsonObject, call: Invocation): Promise<JsonObject> {
  const { state, config = {}, permissions = [] } = proposal;
  if (state !== 'open') return proposal;
  try {
    return { ...proposal, past: await replayed({ config, permissions }, call) };
  } catch (thrown) {
    const { code, message } = toAtmoError(thrown);
    return { ...proposal, past: { error: { code, message } } };
  }
}

/** Maximum number of times that one replay waits for the hub to allow it: another client of the same person may come first. */
const MAX_WAITS = 3;

/** Replays a draft, after the time that the hub names if it refuses another replay so soon. */
async function replayed(draft: JsonObject, { hub, io }: Invocation): Promise<Json> {
  for (let waits = 0; ; waits++) {
    try {
      return await hub.call('replay_automation', draft);
    } catch (thrown) {
      const { retry_after_ms: waitMs } = toAtmoError(thrown).details;
      if (typeof waitMs !== 'number' || waits === MAX_WAITS) throw thrown;
      await io.sleep(waitMs);
    }
  }
}

/** Largest number of lines about the past month. */
const MAX_PAST = 6;

function pastLines({ past }: JsonObject): readonly string[] {
  if (!isJsonObject(past)) return [];
  const { error } = past;
  if (isJsonObject(error)) return [`  past month: not known: ${error.code}: ${cellText(error.message)}`];
  return replayLines(past)
    .slice(0, MAX_PAST)
    .map((line, index) => (index === 0 ? `  past month: ${line}` : `    ${line}`));
}

const accept = toolCommand({
  name: 'agent accept',
  summary: 'let a proposed automation live, with the permissions that were shown',
  examples: ['agent accept 3f2a9c0d1e4b5a68 HASH'],
  tool: 'accept_automation',
  operands: [PROPOSAL, { name: 'HASH', help: 'of the definition, as agent proposals showed it', param: 'hash' }],
  sentence: ({ agent_id: id, version }) => `${id} does this now, in version ${version}`,
});

const decline = toolCommand({
  name: 'agent decline',
  summary: 'take a proposed automation off the list',
  examples: ["agent decline 3f2a9c0d1e4b5a68 --reason 'we like it warm'"],
  tool: 'decline_automation',
  operands: [PROPOSAL],
  options: { reason: { value: 'TEXT', help: 'why, for the agent', param: 'reason' } },
  sentence: (_answer, call) => `proposal ${call.operand(0)} was declined`,
});

/** The commands about automations that agents propose. */
export const proposalCommands: readonly Command[] = [propose, proposals, accept, decline];

async function proposalParams(call: Invocation): Promise<JsonObject> {
  const [file, sentence, replaces] = [call.text('config'), call.text('sentence'), call.text('replaces')];
  if (file === undefined) throw usage('--config is missing: a file that says what the automation does (docs/automations.md)');
  const permissions = namedPermissions(call);
  if (permissions.length === 0) throw usage('--allow is missing: name what it needs, such as --allow device:control:DEVICE');
  return {
    name: call.operand(0),
    config: await configIn(file, call),
    permissions,
    ...(sentence !== undefined && { sentence }),
    ...(replaces !== undefined && { replaces }),
  };
}

function proposalText(proposal: JsonObject): string {
  const { name, by, sentence, replaces, permissions, beyond, state, reason } = proposal;
  const lines = [
    `${proposal.proposal_id}  ${JSON.stringify(name)}, proposed by ${by}${replaces === undefined ? '' : `, in place of ${replaces}`}`,
    ...(state === 'open' ? [] : [`  ${state}${reason === undefined ? '' : `: ${cellText(reason)}`}`]),
    ...(sentence === undefined ? [] : [`  ${by} says: ${JSON.stringify(sentence)}`]),
    ...textsOf(proposal.words).map((line) => `  ${line}`),
    `  may: ${textsOf(permissions)
      .map((permission) => namedPermission(permission, proposal))
      .join(', ')}`,
    ...(textsOf(beyond).length === 0 ? [] : [`  you cannot accept it, since you lack ${textsOf(beyond).join(', ')}`]),
    ...pastLines(proposal),
    ...objectsIn(proposal, 'conflicts').map((finding) => `  ${conflictText(finding).replaceAll('\n', '\n  ')}`),
    ...(state === 'open' ? [`  accept: sudo atmo agent accept ${proposal.proposal_id} ${proposal.hash}`] : [`  hash: ${proposal.hash}`]),
  ];
  return lines.join('\n');
}

/** Returns a permission with the name of what it is about: `device:control:hall-lamp ("Hall lamp")`. */
function namedPermission(permission: string, proposal: JsonObject): string {
  const id = permission.split(':').slice(2).join(':');
  const thing = objectsIn(proposal, 'named').find((one) => one.id === id);
  return thing === undefined ? permission : `${permission} (${JSON.stringify(thing.name)})`;
}
