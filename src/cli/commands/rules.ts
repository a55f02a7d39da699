import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type KnownNames, type RuleCheck, shownValues } from '../../core/auth/rules.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject, objectOf, present, textsOf } from '../../core/json.ts';
import { typesAndFamilies } from '../../profiles/home/device-groups.ts';
import type { HubMachineIo } from '../cli-io.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { allTools, objectsIn } from '../hub/answer-lists.ts';
import type { HubClient } from '../hub/hub-client.ts';
import { stateDirs } from '../identity/user-files.ts';
import { parseJsonObject, readInput } from '../input.ts';
import { cellText, textTable } from '../terminal/text-table.ts';
import { requestCommand, typedParams } from '../tool-command.ts';

const REFUSED = 3;
const WRONG = 2;

const rules = requestCommand({
  name: 'rules',
  summary: "list the owner's rules that hold now",
  examples: ['rules'],
  request: async ({ hub }) => objectOf(await hub.call('hub:list_rules', {})),
  text: listingText,
});

/** The command that checks a rules file without a hub. */
export const checkRules: Command<HubMachineIo> = {
  name: 'rules check',
  summary: 'check a rules file and explain its mistakes; needs no hub',
  examples: ['rules check', 'rules check new-rules.yaml'],
  operands: [{ name: 'FILE', help: 'file to check; rules.yaml in the state directory by default', isOptional: true }],
  async run({ io, hub, output, operands: [file] }) {
    const known = await namesOfHub(hub);
    const found = await io.rulesCheck(file ?? usualFile(io.env), known);
    if (!known) output.note('No hub answered: whether the devices, areas and tools exist was not checked');
    output.answer({ ok: found.problem === undefined, ...found }, () => checkText(found));
    return found.problem === undefined ? undefined : WRONG;
  },
};

const test: Command = {
  name: 'rules test',
  summary: 'tell which rule would decide about a call, and why; nothing runs',
  examples: ['rules test front_door_unlock', 'rules test living_room_lamp_set_brightness brightness=40'],
  operands: [
    { name: 'TOOL', help: 'tool name, as atmo tools lists it' },
    { name: 'KEY=VALUE', help: "parameters, typed by the tool's schema", isOptional: true, isRepeated: true },
  ],
  options: {
    params: { value: 'JSON', help: 'parameters as a JSON object, as @file, or - for stdin' },
    agent: { value: 'ID', help: 'the agent that would call; the owner by default' },
    at: { value: 'TIME', help: '22:30, "fri 22:30" or 2026-01-31T22:30:00Z; now by default' },
  },
  async run(call) {
    const request = present({ tool: call.operand(0), params: await paramsOf(call), agent: call.text('agent'), at: call.text('at') });
    const trial = objectOf(await call.hub.call('hub:test_rules', request));
    call.output.answer(trial, () => trialText(trial));
    return objectOf(trial.verdict).kind === 'allow' && trial.dangerous !== true ? undefined : REFUSED;
  },
};

/** The commands about the owner's rules. */
export const ruleCommands: readonly Command[] = [rules, test];

async function paramsOf(call: Invocation): Promise<JsonObject> {
  const [tool = '', ...words] = call.operands;
  const given = call.text('params');
  if (given !== undefined && words.length > 0) throw usage('Use either key=value words or --params, not both');
  if (given !== undefined) return parseJsonObject(await readInput(given, call.io), '--params');
  if (words.length === 0) return {};
  return typedParams(words, await call.hub.get(`/api/v1/tools/${encodeURIComponent(tool)}`), call.io);
}

function usualFile(env: Invocation['io']['env']): string {
  const files = stateDirs(env).map((dir) => join(dir, 'rules.yaml'));
  const found = files.find((file) => existsSync(file));
  if (found !== undefined) return found;
  throw usage(`There is no ${files.join(' and no ')}; name the file: atmo rules check FILE`);
}

/** Returns the hub's names, to find misspelled names in rules. If the hub cannot answer, returns undefined, and the check is skipped. */
async function namesOfHub(hub: HubClient): Promise<KnownNames | undefined> {
  try {
    const devices = objectsIn(await hub.get('/api/v1/devices'), 'devices');
    const texts = (member: string): readonly string[] =>
      devices.flatMap((device) => (typeof device[member] === 'string' ? [device[member]] : []));
    const tools = await allTools(hub, {});
    return {
      devices: texts('id'),
      areas: texts('area'),
      types: [...typesAndFamilies(devices.flatMap(({ device_types: types }) => textsOf(types)))],
      values: [...new Set(tools.flatMap(({ returns }) => shownValues(returns)))],
      tools: tools.map(({ id }) => String(id).split('@')[0] ?? ''),
    };
  } catch (error) {
    if (error instanceof AtmoError) return undefined;
    throw error;
  }
}

function listingText(listing: JsonObject): string {
  const rows = objectsIn(listing, 'rules').map(({ line, name, effect, persons, when }) => [
    line,
    name,
    persons === undefined ? effect : `approve by ${cellText(persons)}`,
    isJsonObject(when) && Object.keys(when).length > 0 ? when : 'always',
  ]);
  return [
    textTable(['LINE', 'RULE', 'EFFECT', 'WHEN'], rows),
    `What no rule speaks of: ${cellText(listing.default)} for agents. Times are those of ${cellText(listing.timezone)}.\n`,
    typeof listing.problem === 'string' ? `The file has changed and was refused: ${listing.problem}\n` : '',
    ...objectsIn(listing, 'warnings').map(warningText),
  ].join('');
}

function checkText({ file, count, problem, warnings }: RuleCheck): string {
  if (problem !== undefined) return problem;
  return `${warnings.map(warningText).join('')}${file}: ${count} ${count === 1 ? 'rule' : 'rules'}, fine`;
}

function warningText({ line, message }: { readonly line?: unknown; readonly message?: unknown }): string {
  return `line ${cellText(line)}: ${cellText(message)}\n`;
}

function trialText(trial: JsonObject): string {
  const { kind, rule, reason, persons } = objectOf(trial.verdict);
  const what = kind === 'approve' ? `needs the approval of ${cellText(persons)}` : kind === 'deny' ? 'is denied' : 'is allowed';
  const why = [rule === undefined ? '' : ` by ${JSON.stringify(rule)}`, reason === undefined ? '' : ` (${cellText(reason)})`].join('');
  const lines = objectsIn(trial, 'effects').flatMap((effect) => [
    `  ${cellText(effect.does ?? effect.target ?? effect.tool ?? trial.tool)}: ${cellText(effect.decision)}${effect.rule === undefined ? '' : ` by ${JSON.stringify(effect.rule)}`}\n`,
    ...textsOf(effect.because).map((because) => `    ${cellText(because)}\n`),
  ]);
  const when = trial.at === undefined ? '' : ` at ${cellText(trial.at)}`;
  const danger = trial.dangerous === true && kind === 'allow' ? '; it is dangerous, so that a person has to approve each call' : '';
  const rest = textsOf(trial.judged_later).map(
    (tool) => `  ${cellText(tool)}: judged when it runs, by the results of the steps before it\n`,
  );
  return `${cellText(trial.tool)}${when} ${what}${why}${danger}\n${lines.join('')}${rest.join('')}`;
}
