import { type JsonObject, objectOf, objectsOf } from '../../core/json.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import { textTable } from '../terminal/text-table.ts';
import { requestCommand, toolCommand } from '../tool-command.ts';
import { AGENT, configIn, conflictText, namedPermissions } from './agents.ts';

const show = requestCommand({
  name: 'agent show',
  summary: 'what an automation does, as agent edit takes it; ids stand in place of names',
  examples: ['agent show night-watch', 'agent show night-watch --version 3'],
  operands: [AGENT],
  options: { version: { value: 'NUMBER', help: 'what it did in this version' } },
  request: (call) => call.hub.call('show_automation', { agent_id: call.operand(0), ...versionIn(call.text('version')) }),
  text: (answer) => `${JSON.stringify(objectOf(answer).config, null, 2)}\n`,
});

const edit: Command = {
  name: 'agent edit',
  summary: 'change what an automation does; the version before can be brought back',
  examples: ['agent edit night-watch --config night.yaml', "agent edit night-watch --config night.yaml --note 'later in summer'"],
  operands: [AGENT, { name: 'PERMISSION', help: 'more of what --allow began', isOptional: true, isRepeated: true }],
  options: {
    config: { value: 'FILE', help: 'what it does from now on, JSON or YAML (docs/automations.md), or - for stdin' },
    allow: { value: 'PERMISSION', help: 'all that it may do from now on; as before without it; may be repeated', isRepeated: true },
    note: { value: 'TEXT', help: 'what the change is for, for the list of versions' },
  },
  async run(call) {
    const answer = await call.hub.call('edit_automation', await editParams(call));
    call.output.answer(answer, () => editText(objectOf(answer), call));
  },
};

const versions = requestCommand({
  name: 'agent versions',
  summary: 'what an automation did before: its versions, when and by whom they were made',
  examples: ['agent versions night-watch'],
  operands: [AGENT],
  request: (call) => call.hub.call('list_automation_versions', { agent_id: call.operand(0) }),
  text: (answer) => textTable(['VERSION', 'AT', 'BY', 'NOTE', 'CHANGED'], objectsIn(answer, 'versions').map(versionRow)),
});

const rollback = toolCommand({
  name: 'agent rollback',
  summary: 'let an automation do again what it did in an earlier version',
  examples: ['agent rollback night-watch 3'],
  tool: 'roll_back_automation',
  operands: [AGENT, { name: 'VERSION', help: 'number of the version, as agent versions lists it' }],
  params: (call) => versionIn(call.operand(1)),
  sentence: (answer, call) => editText(answer, call).trimEnd(),
});

/** The commands about the versions of automations. */
export const versionCommands: readonly Command[] = [show, edit, versions, rollback];

function versionIn(text: string | undefined): JsonObject {
  if (text === undefined) return {};
  if (/^[1-9]\d{0,8}$/.test(text)) return { version: Number(text) };
  throw usage(`${JSON.stringify(text)} is no number of a version; atmo agent versions lists them`);
}

async function editParams(call: Invocation): Promise<JsonObject> {
  const [file, note, permissions] = [call.text('config'), call.text('note'), namedPermissions(call)];
  if (file === undefined) throw usage('--config is missing: a file that says what the automation does (docs/automations.md)');
  return {
    agent_id: call.operand(0),
    config: await configIn(file, call),
    ...(permissions.length > 0 && { permissions }),
    ...(note !== undefined && { note }),
  };
}

function editText(answer: JsonObject, { operands: [id] }: Invocation): string {
  const { version, is_changed: isChanged } = answer;
  const note = isChanged === true ? `${id} has version ${version} now` : `${id} did this before, in version ${version}: nothing changed`;
  return `${[note, ...objectsIn(answer, 'conflicts').map(conflictText)].join('\n')}\n`;
}

function versionRow({ version, at, by, note, is_current: isCurrent, diff }: JsonObject): readonly unknown[] {
  const changed = objectsOf(diff).map(({ path }) => path);
  return [isCurrent === true ? `${version} (now)` : version, at, by, note, changed];
}
