import { writeFile } from 'node:fs/promises';
import { AtmoError, systemCode } from '../../core/errors.ts';
import { type JsonObject, present, textsOf } from '../../core/json.ts';
import { type Command, durationSeconds, type Invocation, usage } from '../command.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import { hubIdOf, JOIN_ADVICE, membershipPairs } from '../hub/mesh-status.ts';
import { givenPassphrase, newPassphrase, PASSPHRASE_OPTION, readInput, requirePassphrase } from '../input.ts';
import { qrBlock, StyledText } from '../terminal/blocks.ts';
import { textPairs, textTable } from '../terminal/text-table.ts';
import { requestCommand } from '../tool-command.ts';

const HUB = { name: 'HUB', help: 'id or unique name of the hub, as atmo mesh peers tells it' };

const revoke: Command = {
  name: 'mesh revoke',
  summary: 'end the membership of another hub, and of those that it let in, at once and for good',
  examples: ['mesh revoke shed'],
  operands: [HUB],
  options: PASSPHRASE_OPTION,
  async run(call) {
    const hub = await hubIdOf(call.hub, call.operand(0));
    const answer = await call.hub.post(`/api/v1/mesh/peers/${hub}/revoke`, present({ passphrase: await givenPassphrase(call) }));
    const others = textsOf(answer.also_ended);
    call.output.answer(answer, () => `${[hub, ...others].join(', ')} ${others.length > 0 ? 'are' : 'is'} no member any more\n`);
  },
};

const delegate: Command = {
  name: 'mesh delegate',
  summary: 'let a hub of the mesh invite others and renew memberships, for five years',
  examples: ['mesh delegate shed'],
  operands: [HUB],
  options: PASSPHRASE_OPTION,
  async run(call) {
    const hub = await hubIdOf(call.hub, call.operand(0));
    const answer = await call.hub.post(`/api/v1/mesh/peers/${hub}/delegate`, { passphrase: await requirePassphrase(call) });
    call.output.answer(answer, () => `${hub} may let others in${answer.delivered === false ? ' as soon as it connects' : ''}\n`);
  },
};

const exportRoot: Command = {
  name: 'mesh export-root',
  summary: 'write the root key of the mesh, sealed under its passphrase, to a file for a safe place',
  examples: ['mesh export-root mesh-root.key'],
  operands: [{ name: 'FILE', help: 'new file, readable by you alone; - for stdout' }],
  options: PASSPHRASE_OPTION,
  async run(call) {
    const file = call.operand(0);
    const answer = await call.hub.post('/api/v1/mesh/root/export', { passphrase: await requirePassphrase(call) });
    if (file === '-') {
      call.output.answer(answer, () => `${answer.root_key}\n`);
      return;
    }
    await writeNew(file, `${answer.root_key}\n`);
    call.output.answer({ file }, () => `the sealed root key is in ${file}; without its passphrase it is worth nothing\n`);
  },
};

const importRoot = requestCommand({
  name: 'mesh import-root',
  summary: 'bring an exported root key of the mesh to this hub',
  examples: ['mesh import-root mesh-root.key'],
  operands: [{ name: 'FILE', help: 'what atmo mesh export-root wrote; - for stdin' }],
  options: PASSPHRASE_OPTION,
  async request(call) {
    const file = call.operand(0);
    const rootKey = await readInput(file === '-' ? '-' : `@${file}`, call.io);
    return call.hub.post('/api/v1/mesh/root/import', { root_key: rootKey, passphrase: await requirePassphrase(call) });
  },
  text: () => 'this hub has the root key now\n',
});

async function writeNew(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const why = systemCode(error);
    throw usage(`${file} cannot be written (${why === 'EEXIST' ? 'it is there already' : why}); name a new file`);
  }
}

const INVITE_START = 'atmo-join1.';
const LONGEST_INVITE_SECONDS = 86_400;

const create: Command = {
  name: 'mesh create',
  summary: 'make a mesh with this hub as its first member',
  examples: ['mesh create --name home'],
  options: { name: { value: 'NAME', help: 'what you call the mesh' }, ...PASSPHRASE_OPTION },
  async run(call) {
    await requireNoMesh(call);
    const body = present({ passphrase: await newPassphrase(call), name: call.text('name') });
    const status = await call.output.during('Making the mesh and sealing its root key', () => call.hub.post('/api/v1/mesh/create', body));
    call.output.answer(status, () => `${status.mesh_id} is made, and this hub is its first member\n`);
    call.output.note('Keep a copy of its root key in a safe place: atmo mesh export-root FILE. Let hubs in: atmo mesh invite');
  },
};

const invite: Command = {
  name: 'mesh invite',
  summary: 'let one hub in: one line that it joins with, once; whoever has the line can use it',
  examples: ['mesh invite', 'mesh invite --ttl 1h --qr'],
  options: {
    ttl: { value: 'TIME', help: 'how long it can be used: 15m (the default), at most 24h' },
    allow: { value: 'PERMISSION', help: 'what its tokens may do on other hubs at most; may be repeated', isRepeated: true },
    address: { value: 'HOST:PORT', help: 'where it finds this hub; may be repeated', isRepeated: true },
    'may-invite': { help: 'it may let others in as well; takes the passphrase' },
    qr: { help: 'show the line as a QR code too' },
    ...PASSPHRASE_OPTION,
  },
  async run(call) {
    const answer = await call.hub.post('/api/v1/mesh/invites', await inviteParams(call));
    const { invite: code, ...facts } = answer;
    const picture = call.isSet('qr') && !call.output.isJson ? await qrBlock(String(code)) : '';
    call.output.answer({ code: code ?? null, ...facts }, () => [picture, `${code}\n`]);
    if (!call.output.isJson) call.output.note(`On the other hub, until ${facts.expires_at}: atmo mesh join LINE`);
  },
};

const join = requestCommand({
  name: 'mesh join',
  summary: 'make this hub a member of the mesh that an invite is for',
  examples: ['mesh join @invite.txt', 'mesh join -'],
  operands: [{ name: 'LINE', help: 'what atmo mesh invite printed, or @FILE, or - for stdin' }],
  async request(call) {
    const line = await readInput(call.operand(0), call.io);
    if (!line.startsWith(INVITE_START))
      throw usage(`This is no invite: the line that atmo mesh invite printed begins with ${INVITE_START}`);
    return call.output.during('Joining the mesh', () => call.hub.post('/api/v1/mesh/join', { invite: line }));
  },
  text: (status) => `this hub is a member of ${status.mesh_id} until ${status.expires_at}; it renews itself\n`,
});

const leave = requestCommand({
  name: 'mesh leave',
  summary: 'end the membership of this hub',
  examples: ['mesh leave'],
  options: { 'delete-root-key': { help: 'delete the root key that is on this hub; without a copy the mesh loses it for ever' } },
  request: (call) => call.hub.post('/api/v1/mesh/leave', { delete_root_key: call.isSet('delete-root-key') }),
  text: () => 'this hub is in no mesh any more\n',
});

const peers: Command = {
  name: 'mesh peers',
  summary: 'the other hubs: whether each can be reached and how fast, its version and tools',
  examples: ['mesh peers', 'mesh peers --reachable'],
  options: { reachable: { help: 'only those that can be reached' } },
  async run(call) {
    const { mesh_id: meshId, ...mesh } = await call.hub.get('/api/v1/mesh', call.isSet('reachable') ? { reachable: true } : {});
    const list = objectsIn(mesh, 'peers');
    call.output.answer({ ...(meshId !== undefined && { mesh_id: meshId }), peers: list }, () =>
      textTable(['ID', 'NAME', 'REACHABLE', 'ROUND TRIP', 'VERSION', 'TOOLS', 'STATE'], list.map(peerRow)),
    );
    if (list.length === 0 && !call.output.isJson && !call.isSet('reachable'))
      call.output.note(
        meshId === undefined ? `This hub is in no mesh: ${JOIN_ADVICE}` : 'No other hub was met yet; let one in: atmo mesh invite',
      );
  },
};

const status = requestCommand({
  name: 'mesh status',
  summary: 'which mesh this hub is in, what it may do there, and until when',
  examples: ['mesh status'],
  async request({ hub }) {
    const { peers: _, ...facts } = await hub.get('/api/v1/mesh');
    return facts;
  },
  text: (facts) => textPairs(membershipPairs(facts)),
});

const renew = requestCommand({
  name: 'mesh renew',
  summary: 'get a new membership certificate now; it happens by itself 30 days before the end',
  examples: ['mesh renew'],
  request: ({ hub, output }) => output.during('Renewing the membership', () => hub.post('/api/v1/mesh/renew', {})),
  text: (facts) => `this hub is a member of ${facts.mesh_id} until ${facts.expires_at}\n`,
});

/** The commands about the mesh of hubs. */
export const meshCommands = [create, invite, join, leave, peers, status, renew, revoke, delegate, exportRoot, importRoot];

/** Throws CONFLICT if the hub is already in a mesh. Called before the person chooses a passphrase. */
async function requireNoMesh(call: Invocation): Promise<void> {
  const { state, mesh_id: meshId } = await call.hub.get('/api/v1/mesh');
  if (state === 'none' || meshId === undefined) return;
  throw new AtmoError('CONFLICT', `This hub is in ${meshId} already, and a hub is in one mesh. Leave it first: atmo mesh leave`);
}

async function inviteParams(call: Invocation): Promise<JsonObject> {
  const ttl = call.text('ttl');
  const [permissions, addresses] = [call.texts('allow'), call.texts('address')];
  return {
    ...(ttl !== undefined && { ttl_seconds: inviteSeconds(ttl) }),
    ...(permissions.length > 0 && { permissions }),
    ...(addresses.length > 0 && { addresses }),
    ...(call.isSet('may-invite') && { may_invite: true, passphrase: await requirePassphrase(call) }),
  };
}

function inviteSeconds(ttl: string): number {
  const seconds = durationSeconds(ttl, '--ttl');
  if (seconds >= 60 && seconds <= LONGEST_INVITE_SECONDS) return seconds;
  throw usage(`--ttl takes 1m to 24h, not ${JSON.stringify(ttl)}: whoever has the line can join until then`);
}

function peerRow(peer: JsonObject): readonly unknown[] {
  const { id, name, reachable, round_trip_ms: roundTripMs, hops, version, tools, missing_tools: missing, state } = peer;
  const trip = typeof roundTripMs === 'number' ? `${roundTripMs} ms` : reachable === true ? `${hops} hops` : '-';
  return [
    id,
    name,
    new StyledText(reachable === true ? 'yes' : 'no', reachable === true ? 'good' : 'bad'),
    trip,
    version,
    Number(missing) > 0 ? `${tools}, ${missing} missing` : tools,
    state,
  ];
}
