import { isJsonObject, type Json, type JsonObject, objectOf, textsOf } from '../../core/json.ts';
import { type Command, durationSeconds, type Invocation, usage } from '../command.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import { readInput } from '../input.ts';
import { cellText, textTable } from '../terminal/text-table.ts';
import { requestCommand, toolCommand } from '../tool-command.ts';

/** The operand of commands about one agent. */
export const AGENT = { name: 'ID', help: 'id of the agent, as atmo agents lists it', param: 'agent_id', completes: 'agent' } as const;
const REASON = { value: 'TEXT', help: 'why, for the journal and the list', param: 'reason' };
const HEADINGS = ['AGENT', 'TYPE', 'STATUS', 'RUNS', 'LAST RUN', 'PARAMETERS', 'UNTIL', 'LAST ERROR'];

const agents = requestCommand({
  name: 'agents',
  summary: 'automations of the hub and outside agents that it gave a token',
  examples: ['agents'],
  request: ({ hub }) => hub.call('list_agents', {}),
  text: (answer) => textTable(HEADINGS, objectsIn(answer, 'agents').map(agentRow)),
});

const spawn: Command = {
  name: 'agent spawn',
  summary: 'let the hub run an automation, or make a token for an agent elsewhere',
  examples: [
    'agent spawn night-watch --config night.yaml --allow device:control:hall-lamp',
    'agent spawn helper --external --allow device:control:@area/kitchen --ttl 30d',
  ],
  operands: [
    { name: 'NAME', help: 'its name; an id is made of it' },
    { name: 'PERMISSION', help: 'more of what --allow began', isOptional: true, isRepeated: true },
  ],
  options: {
    config: { value: 'FILE', help: 'what an automation does, JSON or YAML (docs/automations.md), or - for stdin' },
    allow: { value: 'PERMISSION', help: 'what it may do, such as device:control:DEVICE; may be repeated', isRepeated: true },
    ttl: {
      value: 'TIME',
      help: 'how long it lives: 15m, 24h, 30d, at most 400d; without it an automation of the owner has no end, others 24h',
    },
    external: { help: 'a process elsewhere: stdout gets its token alone, which is told this once' },
  },
  async run(call) {
    const spawned = await call.hub.call('spawn_agent', await spawnParams(call));
    const facts = objectOf(spawned);
    const isExternal = call.isSet('external');
    const note = `agent ${facts.agent_id} is ${facts.status} ${endOf(facts)}`;
    const conflicts = objectsIn(spawned, 'conflicts').map(conflictText);
    call.output.answer(spawned, () => (isExternal ? `${facts.token}\n` : `${[note, ...conflicts].join('\n')}\n`));
    if (isExternal && !call.output.isJson) call.output.note(`${note}; "atmo agent kill ${facts.agent_id}" ends it`);
  },
};

const check: Command = {
  name: 'agent check',
  summary: 'say what may go wrong with an automation before it lives: conflicts with others, loops, rules, nights',
  examples: ['agent check night.yaml --allow device:control:hall-lamp'],
  operands: [
    { name: 'FILE', help: 'what it would do, JSON or YAML (docs/automations.md), or - for stdin' },
    { name: 'PERMISSION', help: 'more of what --allow began', isOptional: true, isRepeated: true },
  ],
  options: {
    allow: { value: 'PERMISSION', help: 'what it would be allowed, such as device:control:DEVICE; may be repeated', isRepeated: true },
    name: { value: 'NAME', help: 'its name; one that lives under it is not compared with it' },
    ttl: { value: 'TIME', help: 'how long it would live: 24h, 30d, at most 400d' },
  },
  async run(call) {
    const answer = await call.hub.call('hub:check_automation', await checkParams(call));
    const conflicts = objectsIn(answer, 'conflicts');
    call.output.answer(answer, () => (conflicts.length === 0 ? 'nothing found\n' : `${conflicts.map(conflictText).join('\n')}\n`));
  },
};

const replay: Command = {
  name: 'agent replay',
  summary: 'say when an automation, or the draft of one, would have run in the last days, from what the hub kept',
  examples: [
    'agent replay night-watch',
    'agent replay night.yaml --allow sensor:read:hall-sensor/temperature device:control:hall-lamp --days 7',
  ],
  operands: [
    { name: 'ID|FILE', help: 'id of an automation; or, with --allow, a file with what a draft would do, or - for stdin' },
    { name: 'PERMISSION', help: 'more of what --allow began', isOptional: true, isRepeated: true },
  ],
  options: {
    allow: { value: 'PERMISSION', help: 'what a draft would be allowed, such as device:control:DEVICE; may be repeated', isRepeated: true },
    days: { value: 'DAYS', help: 'how many days back, at most 30; 30 if absent' },
  },
  async run(call) {
    const answer = objectOf(await call.hub.call('replay_automation', await replayParams(call)));
    call.output.answer(answer, () => `${replayLines(answer).join('\n')}\n`);
  },
};

const kill = toolCommand({
  name: 'agent kill',
  summary: 'end an agent and all that it spawned',
  examples: ["agent kill night-watch --reason 'no longer needed'"],
  tool: 'kill_agent',
  operands: [AGENT],
  options: { reason: REASON },
  sentence: ended,
});

const dismiss = toolCommand({
  name: 'agent dismiss',
  summary: 'for agents: end one of your own',
  examples: ['agent dismiss helper'],
  tool: 'dismiss_agent',
  operands: [{ name: 'CHILD', help: 'the part of its id after your own and the slash', param: 'child' }],
  options: { reason: REASON },
  sentence: ended,
});

const set = toolCommand({
  name: 'agent set',
  summary: 'change a parameter that an agent declares, such as a threshold',
  examples: ['agent set night-watch threshold 21.5'],
  tool: 'adjust_threshold',
  operands: [AGENT, { name: 'PARAM', help: 'name of the parameter', param: 'param' }, { name: 'VALUE', help: 'its new value' }],
  params: async (call) => ({ value: await typedValue(call) }),
  sentence: ({ old_value: before }, { operands: [id, param, value] }) => `${param} of ${id} is ${value} now; it was ${cellText(before)}`,
});

const enable = enableCommand('enable', true, 'let a disabled automation run again');
const disable = enableCommand('disable', false, 'keep an automation from running until it is enabled again, also after a restart');

const renew = toolCommand({
  name: 'agent renew',
  summary: 'give an automation a new end; without --ttl, one of the owner has none any more',
  examples: ['agent renew night-watch', 'agent renew night-watch --ttl 30d'],
  tool: 'renew_agent',
  operands: [AGENT],
  options: { ttl: { value: 'TIME', help: 'how long it lives from now on: 24h, 30d, at most 400d' } },
  params: async (call) => lifetime(call),
  sentence: (answer, { operands: [id] }) => `${id} lives ${endOf(answer)}`,
});

const why = toolCommand({
  name: 'agent why',
  summary: 'say why an automation ran or did not run, lately or at a moment',
  examples: ['agent why night-watch', 'agent why night-watch --at 18:02', 'agent why night-watch --at 2h --all'],
  tool: 'explain_automation',
  operands: [AGENT],
  options: {
    at: { value: 'TIME', help: 'when: 18:02, an ISO time, or how long ago, such as 30m or 2h', param: 'at' },
    all: { help: 'also what happened around it, newest first' },
  },
  sentence: (answer, call) => {
    const around = call.isSet('all') ? objectsIn(answer, 'traces').map(({ summary }) => `  ${cellText(summary)}`) : [];
    return [cellText(answer.summary), ...around, ...undoAdvice(answer)].join('\n');
  },
});

/** The commands about agents. */
export const agentCommands: readonly Command[] = [agents, spawn, check, replay, set, enable, disable, renew, why, kill, dismiss];

function enableCommand(word: 'enable' | 'disable', enabled: boolean, summary: string): Command {
  return toolCommand({
    name: `agent ${word}`,
    summary,
    examples: [`agent ${word} night-watch`],
    tool: 'set_agent_enabled',
    operands: [AGENT],
    params: async () => ({ enabled }),
    sentence: ({ changed }, { operands: [id] }) =>
      `${id} ${changed === true ? 'is' : 'was'} ${word}d${changed === true ? ' now' : ' already'}`,
  });
}

/** Causes of runs that still go on, which cannot be undone yet. */
const IN_PROGRESS: readonly unknown[] = ['running', 'waits_for_approval', 'waits_for_answer'];

/** Returns the line that undoes a run that has ended; none for a moment without a run. */
function undoAdvice({ outcome, cause, trace_id: trace }: JsonObject): readonly string[] {
  if (outcome !== 'ran' || IN_PROGRESS.includes(cause) || typeof trace !== 'string') return [];
  return [`To undo this run: sudo atmo undo ${trace}`];
}

function endOf({ renews_itself: renewsItself, expires_at: until }: JsonObject): string {
  return renewsItself === true ? 'without an end' : `until ${until}`;
}

function ended({ success }: JsonObject, call: Invocation): string {
  return success === true ? `agent ${call.operand(0)} has ended` : `agent ${call.operand(0)} had ended before`;
}

async function spawnParams(call: Invocation): Promise<JsonObject> {
  const file = call.text('config');
  if (file === undefined && !call.isSet('external'))
    throw usage('--config is missing: a file that says what the automation does (docs/automations.md)');
  return {
    agent_type: call.isSet('external') ? 'external' : 'automation',
    name: call.operand(0),
    permissions: allowed(call),
    ...(file !== undefined && { config: await configIn(file, call) }),
    ...lifetime(call),
  };
}

async function checkParams(call: Invocation): Promise<JsonObject> {
  const name = call.text('name');
  return {
    config: await configIn(call.operand(0), call),
    permissions: allowed(call),
    ...(name !== undefined && { name }),
    ...lifetime(call),
  };
}

async function replayParams(call: Invocation): Promise<JsonObject> {
  const days = call.text('days');
  const isDraft = call.texts('allow').length > 0;
  return {
    ...(isDraft ? { config: await configIn(call.operand(0), call), permissions: allowed(call) } : { agent_id: call.operand(0) }),
    ...(days !== undefined && { days: Number(days) }),
  };
}

/** Returns how often an automation would have run, what is not known, and each run. */
export function replayLines(answer: JsonObject): readonly string[] {
  const { runs, nights, since } = answer;
  const summary = `since ${since} it would have run ${runs} times, ${nights} of them between 1 and 5 at night`;
  const gaps = objectsIn(answer, 'incomplete').map(({ text }) => `not known: ${cellText(text)}`);
  const lines = objectsIn(answer, 'list').map(({ at, trigger, would }) => {
    const { type, ...members } = objectOf(trigger);
    const by = [type, ...Object.values(members)].map(cellText).join(' ');
    return `${at}  ${by}  ${textsOf(would).map(cellText).join('; ')}`;
  });
  return [summary, ...gaps, ...lines];
}

function lifetime(call: Invocation): JsonObject {
  const ttl = call.text('ttl');
  return ttl === undefined ? {} : { ttl_seconds: durationSeconds(ttl, '--ttl') };
}

/** Returns the permissions of --allow. In a shell, a list without commas becomes further operands, so these count too. */
export function namedPermissions(call: Invocation): string[] {
  return [...call.texts('allow'), ...call.operands.slice(1)].flatMap((text) => text.split(',')).filter((text) => text !== '');
}

function allowed(call: Invocation): string[] {
  const permissions = namedPermissions(call);
  if (permissions.length > 0) return permissions;
  throw usage('--allow is missing: name what the agent may do, such as --allow device:control:DEVICE');
}

/** Returns what a check found and what to do about it. */
export function conflictText({ severity, sentence, fix }: JsonObject): string {
  return `${severity}: ${cellText(sentence)}\n  ${cellText(fix)}`;
}

/** Reads a file and checks that it contains an object. The hub checks the object's fields. */
export async function configIn(file: string, call: Invocation): Promise<JsonObject> {
  // Imported when needed, because the module loads the schema compiler.
  const { parseCheckedYaml } = await import('../../core/config/checked-yaml.ts');
  const text = await readInput(file === '-' ? '-' : `@${file}`, call.io);
  const config: unknown = parseCheckedYaml(text, file, { type: 'object' });
  if (isJsonObject(config)) return config;
  throw usage(`${file} has to hold an object with trigger and actions`);
}

/** Converts a typed number, `true` or `false` to its JSON type, unless the agent's parameter is a string. Any other text stays text. */
async function typedValue(call: Invocation): Promise<Json> {
  const text = call.operand(2);
  const known = objectsIn(await call.hub.call('list_agents', {}), 'agents').find(({ agent_id: id }) => id === call.operand(0));
  if (typeof objectOf(known?.parameters)[call.operand(1)] === 'string') return text;
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

function agentRow(agent: JsonObject): readonly unknown[] {
  const { parameters, last_error: error } = agent;
  const shown = Object.entries(objectOf(parameters)).map(([name, value]) => `${name}=${value}`);
  const problem = isJsonObject(error) ? `${error.code}: ${error.message}` : agent.reason;
  const { agent_id: id, agent_type: type, kind, status, runs, last_run_at: lastRun } = agent;
  const until = agent.renews_itself === true ? 'no end' : agent.expires_at;
  return [id, kind === undefined ? type : `${type} (${kind})`, status, runs, lastRun, shown, until, problem];
}
