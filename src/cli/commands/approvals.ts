import { type ApprovalDecision, type ApprovalView, isApproving } from '../../core/auth/approvals.ts';
import { type NamedDevice, readsIn, targetText } from '../../core/devices/action-descriptions.ts';
import { type JsonObject, objectsOf, textsOf } from '../../core/json.ts';
import { type Command, HUB_OPTION, type Invocation, usage } from '../command.ts';
import { objectsIn, resolveIdPrefix } from '../hub/answer-lists.ts';
import { approverKeyFile, openApproverKey, rawKeyOf, readApproverKey, signedDecision } from '../identity/approver-key.ts';
import { approverKeyPath } from '../identity/credential.ts';
import { configDir } from '../identity/user-files.ts';
import type { Printable } from '../terminal/blocks.ts';
import { textPairs, textTable } from '../terminal/text-table.ts';
import { requestCommand } from '../tool-command.ts';

const ID = { name: 'ID', help: 'id of the request; its first characters are enough where they fit one', completes: 'approval' } as const;
const KEY_FILE = { 'key-file': { value: 'FILE', help: 'approver key to sign with' } };
const FULL_ID = /^[0-9a-f]{32}$/;

const list: Command = {
  name: 'approvals',
  summary: 'dangerous calls that wait for people, or one of them',
  examples: ['approvals', 'approvals 7d1e'],
  operands: [{ ...ID, isOptional: true }],
  options: { all: { help: 'decided and expired ones of the last hour too' }, ...HUB_OPTION },
  async run(call) {
    const [id] = call.operands;
    if (id !== undefined) {
      const request = await requestOf(call, id);
      call.output.answer(request, () => requestText(request));
      return;
    }
    const answer = await call.hub.get('/api/v1/approvals');
    const shown = objectsIn(answer, 'approvals').filter(({ state }) => call.isSet('all') || state === 'pending' || state === 'approved');
    const rows = shown.map((one) => [one.approval_id, one.state, `${one.given}/${one.needed}`, one.expires_at, one.summary]);
    call.output.answer({ approvals: shown }, () => textTable(['ID', 'STATE', 'GIVEN', 'EXPIRES', 'WHAT'], rows));
  },
};

const DECISION = { operands: [ID], options: { ...KEY_FILE, ...HUB_OPTION } } as const;

const approve: Command = {
  ...DECISION,
  name: 'approve',
  summary: 'approve a dangerous call, signed with your approver key',
  examples: ['approve 7d1e', 'approve 7d1e --for-hour'],
  options: { 'for-hour': { help: 'allow the same call of this agent again for an hour' }, ...DECISION.options },
  run: (call) => decide(call, call.isSet('for-hour') ? 'approve_for_hour' : 'approve'),
};

const deny: Command = {
  ...DECISION,
  name: 'deny',
  summary: 'deny a dangerous call; one denial ends it',
  examples: ['deny 7d1e'],
  run: (call) => decide(call, 'deny'),
};

const refuse: Command = {
  ...DECISION,
  name: 'refuse',
  summary: 'deny a call, and refuse its agent the devices of the call until that is removed',
  examples: ['refuse 7d1e'],
  run: (call) => decide(call, 'refuse'),
};

const standing = requestCommand({
  name: 'approvals standing',
  summary: 'what is allowed for an hour, and which devices are refused to agents',
  examples: ['approvals standing'],
  options: HUB_OPTION,
  request: ({ hub }) => hub.get('/api/v1/standing-answers'),
  text(answer) {
    const rows = objectsIn(answer, 'answers').map((one) => [one.approval_id, one.person, one.until ?? 'you remove it', one.summary]);
    return textTable(['ID', 'BY', 'UNTIL', 'WHAT'], rows);
  },
});

const removeStanding = requestCommand({
  name: 'approvals remove',
  summary: 'end an approval for an hour, or lift a refusal',
  examples: ['approvals remove 7d1e'],
  operands: [{ name: 'ID', help: 'id, as atmo approvals standing lists it; its first characters are enough where they fit one' }],
  options: HUB_OPTION,
  request: async (call) => call.hub.delete(`/api/v1/standing-answers/${await standingId(call, call.operand(0))}`),
  text: (answer) => `removed: ${answer.summary}\n`,
});

async function standingId(call: Invocation, id: string): Promise<string> {
  if (FULL_ID.test(id)) return id;
  const known = objectsIn(await call.hub.get('/api/v1/standing-answers'), 'answers').map(({ approval_id }) => String(approval_id));
  return resolveIdPrefix(known, id, { what: 'answer', listedBy: 'atmo approvals standing' });
}

/** The commands that list approval requests and decide them. */
export const approvalCommands: readonly Command[] = [list, approve, deny, refuse, standing, removeStanding];

/** What each answer is called while it is sent. */
const DOING: Readonly<Record<ApprovalDecision, string>> = {
  approve: 'Approving',
  approve_for_hour: 'Approving for an hour',
  deny: 'Denying',
  refuse: 'Refusing the devices',
};

async function decide(call: Invocation, decision: ApprovalDecision): Promise<void> {
  const request = await requestOf(call, call.operand(0));
  const key = readApproverKey(approverKeyFile(call.io.env, call.text('key-file')));
  const person = await personOf(call, rawKeyOf(key));
  call.output.note(`${DOING[decision]} as ${person}: ${request.summary}`);
  for (const line of textsOf(request.will_do)) call.output.note(line);
  // A summary with `…` was shortened. All parameters are printed too, because the person must see everything before signing.
  if (request.runs_when_approved === true && isApproving(decision)) call.output.note('It runs when it is approved.');
  if (String(request.summary).includes('…')) call.output.note(JSON.stringify(request.params, null, 2));
  const path = `/api/v1/approvals/${encodeURIComponent(String(request.approval_id))}`;
  const decided = await call.hub.post(path, signedDecision(request, { decision, person, key }));
  call.output.answer(decided, () => `${decided.state}, ${whatNext(decided, request)}\n`);
}

function whatNext({ state, given, needed, usable_until: usableUntil }: JsonObject, request: JsonObject): string {
  const { agent_id: agent, expires_at: until } = request;
  if (state === 'denied') return `the same call of ${agent} is refused until ${until}`;
  if (state === 'used' || (state === 'approved' && request.runs_when_approved === true)) return 'the call runs now';
  const next = state === 'approved' ? `the same call of ${agent} now runs once` : 'another person has to agree';
  return `${given} of ${needed} approvals given; ${next}, until ${usableUntil ?? until}`;
}

async function personOf(call: Invocation, raw: string): Promise<string> {
  const approvers = objectsIn(await call.hub.get('/api/v1/approvers'), 'approvers');
  const person = approvers.find(({ key }) => key === raw)?.person;
  if (typeof person === 'string') return person;
  throw usage(`Your approver key ${raw} is not enrolled on this hub; an approver does that with "atmo approver enroll NAME --key ${raw}"`);
}

async function requestOf(call: Invocation, id: string): Promise<JsonObject> {
  const requests = async () =>
    objectsIn(await call.hub.get('/api/v1/approvals'), 'approvals').map(({ approval_id }) => String(approval_id));
  const fullId = FULL_ID.test(id) ? id : resolveIdPrefix(await requests(), id, { what: 'request', listedBy: 'atmo approvals --all' });
  const request = await call.hub.get(`/api/v1/approvals/${fullId}`);
  if (request.approval_id === fullId) return request;
  throw usage(`The hub told another request than ${fullId}`);
}

function requestText({ summary, params, runs: _, ...request }: JsonObject): Printable {
  const { effects, approved_by: approvals, will_do: willDo, devices, ...others } = request;
  const work = textsOf(willDo).map((line) => `${line}\n`);
  const known = objectsOf(devices) as unknown as readonly NamedDevice[];
  const touched = objectsOf(effects) as unknown as ApprovalView['effects'];
  const reads = readsIn(touched);
  const targets = touched.map(({ target, risk }) => `${targetText([target], known, { reads })} (${risk})`);
  const people = objectsOf(approvals).map(({ person, at }) => `${person} at ${at}`);
  const facts = { ...others, params, touches: targets, approved_by: people.length > 0 ? people : 'nobody yet' };
  return [`${summary}\n\n`, ...work, work.length > 0 ? '\n' : '', textPairs(facts)];
}

const listApprovers = requestCommand({
  name: 'approvers',
  summary: 'the persons who may approve dangerous calls, with their keys',
  examples: ['approvers'],
  request: ({ hub }) => hub.get('/api/v1/approvers'),
  text(answer) {
    const rows = objectsIn(answer, 'approvers').map((one) => [one.person, one.key_id, one.label, one.enrolled_at]);
    return textTable(['PERSON', 'KEY', 'LABEL', 'ENROLLED'], rows);
  },
});

const enrollApprover = requestCommand({
  name: 'approver enroll',
  summary: 'let a person approve dangerous calls; an approver has to agree',
  examples: ['approver enroll ann --key 3p7bfXt9wbTTW2HC7OQ1Nz-DQ8hbeGdNrfx-FG-IK08 --label phone'],
  operands: [{ name: 'PERSON', help: 'name, such as ann' }],
  options: {
    key: { value: 'RAW', help: 'public key, as "atmo approver key" prints it' },
    new: { value: 'FILE', help: 'make a key in this file instead, or take the one that is there' },
    label: { value: 'TEXT', help: 'which key it is, such as phone' },
  },
  request: async (call) =>
    call.hub.post('/api/v1/approvers', { person: call.operand(0), key: enrolledKey(call), label: call.text('label') ?? '' }),
  text: (approver) => `${approver.person} may approve with key ${approver.key_id}\n`,
});

const confirmKey = requestCommand({
  name: 'approver confirm',
  summary: 'let a key approve that a person offered on the page, after you compared its id on both screens; an approver has to agree',
  examples: ['approver confirm 3f2a91bc77d0e412', 'approver confirm 3f2a 91bc 77d0 e412'],
  operands: [{ name: 'KEY_ID', help: 'whole id of the key, as the device of the person shows it; spaces do not count', isRepeated: true }],
  async request(call) {
    const id = call.operands.join('').replace(/[\s-]/g, '').toLowerCase();
    // The beginning of an id is not enough: whoever types it has to have compared all of it.
    if (!FULL_KEY_ID.test(id)) throw usage(`${JSON.stringify(id)} is no whole id of a key: type all 16 digits and letters (0-9, a-f)`);
    return call.hub.post(`/api/v1/approver-keys/${id}`, {});
  },
  text: (approver) => `${approver.person} may approve with key ${approver.key_id}\n`,
});

const removeApprover = requestCommand({
  name: 'approver remove',
  summary: 'remove an approver key; an approver has to agree',
  examples: ['approver remove 5f3a'],
  operands: [{ name: 'KEY', help: 'id of the key, as atmo approvers lists it; its first characters are enough where they fit one' }],
  request: async (call) => call.hub.delete(`/api/v1/approvers/${await fullKeyId(call)}`),
  text: (approver) => `key ${approver.key_id} of ${approver.person} is removed\n`,
});

const ownKey: Command = {
  name: 'approver key',
  summary: 'the public half of your own approver key, made at the first use',
  examples: ['approver key'],
  options: { 'key-file': { value: 'FILE', help: 'where the key lies instead of ~/.config/atmosphere-edge/approver.key' } },
  async run(call) {
    const { env } = call.io;
    const file = call.text('key-file') ?? env.ATMO_APPROVER_KEY_FILE ?? approverKeyPath(configDir(env));
    const raw = rawKeyOf(openApproverKey(file));
    call.output.answer({ key: raw, file }, () => `${raw}\n`);
  },
};

const FULL_KEY_ID = /^[0-9a-f]{16}$/;

async function fullKeyId(call: Invocation): Promise<string> {
  const start = call.operand(0);
  if (FULL_KEY_ID.test(start)) return start;
  const ids = objectsIn(await call.hub.get('/api/v1/approvers'), 'approvers').map(({ key_id: id }) => String(id));
  return resolveIdPrefix(ids, start, { what: 'key', listedBy: 'atmo approvers' });
}

/** The commands about approvers and their keys. */
export const approverCommands: readonly Command[] = [listApprovers, enrollApprover, confirmKey, removeApprover, ownKey];

function enrolledKey(call: Invocation): string {
  const [raw, file] = [call.text('key'), call.text('new')];
  if ((raw === undefined) === (file === undefined)) throw usage('Say either --key RAW or --new FILE');
  return raw ?? rawKeyOf(openApproverKey(file ?? ''));
}
