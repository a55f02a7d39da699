import { PERSON_ROLES } from '../../core/auth/people.ts';
import { type JsonObject, textsOf } from '../../core/json.ts';
import { type Command, type Invocation, type OptionSpec, usage } from '../command.ts';
import { objectsIn, resolveIdPrefix } from '../hub/answer-lists.ts';
import { isLoopback } from '../identity/credential.ts';
import { type Printable, qrBlock } from '../terminal/blocks.ts';
import { textTable } from '../terminal/text-table.ts';
import { requestCommand } from '../tool-command.ts';
import { OPENING } from './hub.ts';

const NAME = { name: 'NAME', help: 'short name of the person, such as ann' } as const;
const LIMITS: Readonly<Record<string, OptionSpec>> = {
  title: { value: 'TEXT', help: 'the name that people read' },
  role: { value: 'ROLE', help: `what the person may do: ${PERSON_ROLES.join(', ')}`, completes: PERSON_ROLES },
  room: { value: 'ROOM', help: 'only devices in this room; "" for all rooms', isRepeated: true, completes: 'area' },
  kind: { value: 'KIND', help: 'only devices of this kind, such as light; "" for those of the role', isRepeated: true },
  until: { value: 'TIME', help: 'end of all rights, such as 2026-08-31T12:00:00Z; "" for none' },
  from: { value: 'HH:MM', help: 'admitted each day from this time of the hub; "" for always' },
  to: { value: 'HH:MM', help: 'admitted each day until this time' },
};

const list = requestCommand({
  name: 'people',
  summary: 'the persons of the household, with their roles and limits',
  examples: ['people'],
  request: ({ hub }) => hub.get('/api/v1/people'),
  text(answer) {
    const rows = objectsIn(answer, 'people').map((one) => [one.name, one.title, one.role, limitsText(one)]);
    return textTable(['NAME', 'TITLE', 'ROLE', 'LIMITS'], rows);
  },
});

const add = requestCommand({
  name: 'people add',
  summary: 'add a person to the household; "atmo people invite" then signs the person in',
  examples: [
    'people add tim --title Tim --role child --room hall --room kitchen',
    'people add eve --role guest --until 2026-08-31T12:00:00Z',
  ],
  operands: [NAME],
  options: LIMITS,
  request(call) {
    if (call.text('role') === undefined)
      throw usage(`--role is missing: ${PERSON_ROLES.join(', ')}; "adult" may use locks, "child" may not`);
    return call.hub.post('/api/v1/people', { name: call.operand(0), ...given(call) });
  },
  text: (person) =>
    `${person.name} is in the household now, as ${rightsText(person)}\n"atmo people invite ${person.name} --qr" signs a phone in\n`,
});

const change = requestCommand({
  name: 'people change',
  summary: 'change the name to read, role or limits of a person; they hold at once',
  examples: ['people change tim --from 07:00 --to 20:00'],
  operands: [NAME],
  options: LIMITS,
  request: (call) => call.hub.post(`/api/v1/people/${encodeURIComponent(call.operand(0))}`, given(call)),
  text: (person) => `${person.name} is changed: ${rightsText(person)}\n`,
});

const remove = requestCommand({
  name: 'people remove',
  summary: 'remove a person; all sign-ins, tokens and approver keys of the person end at once',
  examples: ['people remove tim'],
  operands: [NAME],
  request: (call) => call.hub.delete(`/api/v1/people/${encodeURIComponent(call.operand(0))}`),
  text: (_answer, call) => `${call.operand(0)} is no longer in the household\n`,
});

const invite: Command = {
  name: 'people invite',
  summary: 'sign a person in: a link for one browser, or with --cli a line for "atmo login" on another machine; once, within ten minutes',
  examples: ['people invite ann --qr', 'people invite ann --cli'],
  operands: [NAME],
  options: { qr: { help: 'show the link as a QR code too, for a phone' }, cli: { help: 'for the command line of another machine' } },
  async run(call) {
    if (call.isSet('qr') && call.isSet('cli')) throw usage('Use either --qr or --cli, not both');
    const facts = await call.hub.get('/api/v1/tls');
    const url = facts.enabled === true && typeof facts.url === 'string' ? facts.url : call.hub.url;
    if ((call.isSet('qr') || call.isSet('cli')) && isLoopback(url)) {
      throw usage(`Nobody else reaches ${url}; let the hub answer in your network first (http.host): ${OPENING}`);
    }
    const invitation = await call.hub.post(`/api/v1/people/${encodeURIComponent(call.operand(0))}/invitation`, {});
    const { person, code, expires_at: expiresAt } = invitation;
    if (call.isSet('cli')) {
      const command = `atmo login ${url}${facts.source === 'own_authority' ? ` --fingerprint SHA256:${facts.fingerprint_sha256}` : ''}`;
      call.output.answer(
        { person, command, code, expires_at: expiresAt },
        () => `${command}\n\nThe code, which it asks for: ${code}\n${once(expiresAt)}`,
      );
      return;
    }
    const link = `${url}/#invite=${code}`;
    const picture: Printable = call.isSet('qr') && !call.output.isJson ? await qrBlock(link) : '';
    call.output.answer({ person, link, expires_at: expiresAt }, () => [picture, `\n${link}\n\n${once(expiresAt)}`]);
    if (isLoopback(url))
      call.output.note(`The link works on this machine only. To let the hub answer in your network (http.host): ${OPENING}`);
  },
};

const signIns = requestCommand({
  name: 'people sign-ins',
  summary: 'the browsers and command lines that are signed in',
  examples: ['people sign-ins'],
  request: ({ hub }) => hub.get('/api/v1/sign-ins'),
  text(answer) {
    const rows = objectsIn(answer, 'sign_ins').map((one) => [String(one.sign_in_id).slice(0, 8), one.person, one.label, one.seen_at]);
    return textTable(['ID', 'PERSON', 'DEVICE', 'SEEN'], rows);
  },
});

const signOut = requestCommand({
  name: 'people sign-out',
  summary: 'end a sign-in at once, such as that of a lost phone',
  examples: ['people sign-out 7d1e'],
  operands: [{ name: 'ID', help: 'id of the sign-in; its first characters are enough where they fit one' }],
  async request(call) {
    const known = objectsIn(await call.hub.get('/api/v1/sign-ins'), 'sign_ins').map((one) => String(one.sign_in_id));
    const id = resolveIdPrefix(known, call.operand(0), { what: 'sign-in', listedBy: 'atmo people sign-ins' });
    return call.hub.delete(`/api/v1/sign-ins/${id}`);
  },
  text: ({ person, label }) => `${label} of ${person} is signed out\n`,
});

/** The commands for the persons of the household. */
export const peopleCommands: readonly Command[] = [list, add, change, remove, invite, signIns, signOut];

/** Returns the parameters of the options that were given. An empty text removes a limit. */
function given(call: Invocation): JsonObject {
  const texts = ['title', 'role', 'until', 'from', 'to'].flatMap((name) => {
    const value = call.text(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const lists = (['room', 'kind'] as const).flatMap((name) => {
    const values = call.texts(name);
    return values.length === 0 ? [] : [[`${name}s`, values.filter((value) => value !== '')] as const];
  });
  return Object.fromEntries([...texts, ...lists]);
}

/** Returns the role with everything that narrows it: `child: hall; everyday kinds, no locks; 07:00 to 20:00`. */
function rightsText(person: JsonObject): string {
  const { role, rooms, kinds } = person;
  const isNarrow = role === 'child' || role === 'guest';
  const unsaid = [...(rooms === undefined ? ['all rooms'] : []), ...(kinds === undefined && isNarrow ? ['everyday kinds, no locks'] : [])];
  const parts = role === 'owner' ? [] : [limitsText(person), ...unsaid].filter((part) => part !== '');
  return [role, ...(parts.length > 0 ? [parts.join('; ')] : [])].join(': ');
}

function limitsText({ rooms, kinds, until, from, to }: JsonObject): string {
  const hours = from === undefined || to === undefined ? [] : [`${from} to ${to}`];
  return [textsOf(rooms).join(', '), textsOf(kinds).join(', '), ...(until === undefined ? [] : [`until ${until}`]), ...hours]
    .filter((part) => part !== '')
    .join('; ');
}

function once(expiresAt: unknown): string {
  return `It works once, until ${expiresAt}. Give it to nobody else.\n`;
}
