import { type Command, type Invocation, usage } from '../command.ts';
import { idThatBegins, objectsIn } from '../hub/json-list.ts';
import { openApproverKey, rawKeyOf } from '../identity/approver-key.ts';
import { approverKeyPath, homeOf } from '../login-file.ts';
import { textTable } from '../terminal/text-table.ts';

const list: Command = {
  name: 'approvers',
  summary: 'the persons who may approve dangerous calls, with their keys',
  examples: ['approvers'],
  async run({ hub, output }) {
    const answer = await hub.get('/api/v1/approvers');
    const rows = objectsIn(answer, 'approvers').map((one) => [one.person, one.key_id, one.label, one.enrolled_at]);
    output.answer(answer, () => textTable(['PERSON', 'KEY', 'LABEL', 'ENROLLED'], rows));
    return undefined;
  },
};

const enroll: Command = {
  name: 'approver enroll',
  summary: 'let a person approve dangerous calls; an approver has to agree',
  examples: ['approver enroll ann --key 3p7bfXt9wbTTW2HC7OQ1Nz-DQ8hbeGdNrfx-FG-IK08 --label phone'],
  operands: [{ name: 'PERSON', help: 'name, such as ann' }],
  options: {
    key: { value: 'RAW', help: 'public key, as "atmo approver key" prints it' },
    new: { value: 'FILE', help: 'make a key in this file instead, or take the one that is there' },
    label: { value: 'TEXT', help: 'which key it is, such as phone' },
  },
  async run(call) {
    const body = { person: call.operand(0), key: enrolledKey(call), label: call.text('label') ?? '' };
    const approver = await call.hub.post('/api/v1/approvers', body);
    call.output.answer(approver, () => `${approver.person} may approve with key ${approver.key_id}\n`);
    return undefined;
  },
};

const remove: Command = {
  name: 'approver remove',
  summary: 'remove an approver key; an approver has to agree',
  examples: ['approver remove 5f3a'],
  operands: [{ name: 'KEY', help: 'id of the key, as atmo approvers lists it; its first characters are enough where they fit one' }],
  async run(call) {
    const approver = await call.hub.delete(`/api/v1/approvers/${await fullKeyId(call)}`);
    call.output.answer(approver, () => `key ${approver.key_id} of ${approver.person} is removed\n`);
    return undefined;
  },
};

const key: Command = {
  name: 'approver key',
  summary: 'the public half of your own approver key, made at the first use',
  examples: ['approver key'],
  options: { 'key-file': { value: 'FILE', help: 'where the key lies instead of ~/.config/atmosphere-edge/approver.key' } },
  async run(call) {
    const { env } = call.io;
    const file = call.text('key-file') ?? env.ATMO_APPROVER_KEY_FILE ?? approverKeyPath(homeOf(env));
    const raw = rawKeyOf(openApproverKey(file));
    call.output.answer({ key: raw, file }, () => `${raw}\n`);
    return undefined;
  },
};

const FULL_KEY_ID = /^[0-9a-f]{16}$/;

async function fullKeyId(call: Invocation): Promise<string> {
  const start = call.operand(0);
  if (FULL_KEY_ID.test(start)) return start;
  const ids = objectsIn(await call.hub.get('/api/v1/approvers'), 'approvers').map(({ key_id: id }) => String(id));
  return idThatBegins(ids, start, { what: 'key', listedBy: 'atmo approvers' });
}

/** Whose word counts. */
export const approverCommands: readonly Command[] = [list, enroll, remove, key];

function enrolledKey(call: Invocation): string {
  const [raw, file] = [call.text('key'), call.text('new')];
  if ((raw === undefined) === (file === undefined)) throw usage('Say either --key RAW or --new FILE');
  return raw ?? rawKeyOf(openApproverKey(file ?? ''));
}
