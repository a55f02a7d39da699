import { type JsonObject, present } from '../../core/json.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import { readInput } from '../input.ts';
import type { Block } from '../terminal/blocks.ts';
import { cellText, textTable } from '../terminal/text-table.ts';
import { followJob, toolCommand } from '../tool-command.ts';

export const commission: Command = {
  name: 'commission',
  summary: 'bring a Matter device into the home and tell its tools',
  examples: [
    "commission MT:Y.K9042C00KA0648G00 --name 'Reading lamp' --area 'Living room'",
    'commission 34970112332 --wifi home',
    'commission --passcode - --address 192.168.1.20:5540',
  ],
  operands: [{ name: 'CODE', help: 'QR text (MT:…) or manual code; - reads stdin, @FILE a file', isOptional: true }],
  options: {
    name: { value: 'NAME', help: 'what to call the device' },
    area: { value: 'AREA', help: 'where it is' },
    wifi: { value: 'SET', help: 'over Bluetooth, with these Wi-Fi credentials (atmo credentials wifi)' },
    thread: { value: 'SET', help: 'over Bluetooth, with this Thread dataset (atmo credentials thread)' },
    address: { value: 'HOST:PORT', help: 'known address: no discovery' },
    passcode: { value: 'N', help: 'instead of a code; - reads stdin, @FILE a file' },
    discriminator: { value: 'N', help: 'with --passcode: which device' },
    attestation: { value: 'POLICY', help: 'strict, ask or off', completes: ['strict', 'ask', 'off'] },
    'accept-attestation': { help: 'accept the findings that a first try told' },
  },
  async run(call) {
    const started = await call.hub.post('/api/v1/commission?async=true', await requestOf(call));
    const result = await followJob(call, String(started.job_id), 'Commissioning');
    const ids = objectsIn(result, 'devices').map((device) => String(device.id));
    const devices = await Promise.all(ids.map((id) => call.hub.get(`/api/v1/devices/${encodeURIComponent(id)}`)));
    call.output.answer({ ...result, devices }, () => [...devices.flatMap(deviceText), ...offerText(result)]);
  },
};

/** Offers to restore a removed device that resembles the new device. Only the person knows whether both are the same device. */
function offerText(result: JsonObject): readonly string[] {
  const [first, ...others] = objectsIn(result, 'recognised');
  if (first === undefined) return [];
  const more = others.length === 0 ? '' : ` and ${others.length} more devices`;
  const all = others.length === 0 ? '' : ' --whole-node';
  return [
    `\nThis seems to be ${cellText(first.former)}${more}, which was removed before. If it is the same, it gets its id, history, names and grants back by\n`,
    `  atmo device restore ${cellText(first.device)}${all}\n`,
  ];
}

async function requestOf(call: Invocation): Promise<JsonObject> {
  const [code] = call.operands;
  const passcode = call.text('passcode');
  if ((code === undefined) === (passcode === undefined)) throw usage('Give either a CODE or --passcode');
  const address = call.text('address');
  const names = { name: call.text('name'), area: call.text('area'), wifi: call.text('wifi'), thread: call.text('thread') };
  return present({
    ...names,
    code: code === undefined ? undefined : await readInput(code, call.io),
    passcode: passcode === undefined ? undefined : passcodeOf(await readInput(passcode, call.io)),
    discriminator: call.integer('discriminator'),
    address: address === undefined ? undefined : parseAddress(address),
    attestation: call.text('attestation'),
    accept_attestation: call.isSet('accept-attestation') || undefined,
  });
}

function passcodeOf(text: string): number {
  if (/^\d{1,8}$/.test(text)) return Number(text);
  throw usage('A passcode has up to 8 digits, such as 20202021');
}

/** Parses `HOST:PORT` or `[IPv6]:PORT`. Throws an error for any other text. */
function parseAddress(text: string): JsonObject {
  const match = /^(?:\[([^\]]+)\]|([^:\s]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined)
    throw usage(`--address takes HOST:PORT, such as 192.168.1.20:5540 or [fe80::1%eth0]:5540, not ${JSON.stringify(text)}`);
  return { host, port: Number(match?.[3]) };
}

function deviceText(device: JsonObject): readonly (string | Block)[] {
  const tools = objectsIn(device, 'tools').map((tool) => [tool.id, tool.title]);
  return [`${cellText(device.name)} is ${device.id}\n`, textTable(['TOOL', 'DOES'], tools)];
}

const SET = { name: 'SET', help: 'name of the credential set', param: 'name' };

const credentialsList = toolCommand({
  name: 'credentials list',
  summary: 'the credential sets; their secrets are never told',
  examples: ['credentials list'],
  tool: 'hub:list_credentials',
  columns: ['name', 'kind', 'network'],
});

const credentialsRemove = toolCommand({
  name: 'credentials remove',
  summary: 'forget a credential set',
  examples: ['credentials remove home'],
  tool: 'hub:remove_credentials',
  operands: [SET],
});

const threadImport = toolCommand({
  name: 'credentials thread-import',
  summary: "keep a Thread dataset from an OpenThread Border Router's REST API",
  examples: ['credentials thread-import home http://192.168.1.5:8081'],
  tool: 'hub:import_thread_credentials',
  operands: [SET, { name: 'URL', help: 'such as http://192.168.1.5:8081', param: 'router_url' }],
});

const wifi = toolCommand({
  name: 'credentials wifi',
  summary: 'keep Wi-Fi credentials for devices that join over Bluetooth',
  examples: ["credentials wifi home 'My network' --password @wifi.txt"],
  tool: 'hub:set_wifi_credentials',
  operands: [SET, { name: 'SSID', help: 'name of the network', param: 'ssid' }],
  options: { password: { value: 'SOURCE', help: '- (stdin, the default) or @FILE' } },
  params: async (call) => ({ password: await readSecret(call, 'password') }),
  sentence: (_result, call) => `kept as ${call.operand(0)}`,
});

const thread = toolCommand({
  name: 'credentials thread',
  summary: 'keep a Thread operational dataset (TLV in hex)',
  examples: ['credentials thread home --dataset @dataset.txt'],
  tool: 'hub:set_thread_credentials',
  operands: [SET],
  options: { dataset: { value: 'SOURCE', help: '- (stdin, the default) or @FILE' } },
  params: async (call) => ({ dataset: await readSecret(call, 'dataset') }),
  sentence: (_result, call) => `kept as ${call.operand(0)}`,
});

/** Reads a secret from stdin or a file. An argument is not allowed, since every user of the machine can read the arguments of a process. */
async function readSecret(call: Invocation, option: string): Promise<string> {
  const source = call.text(option) ?? '-';
  if (source !== '-' && !source.startsWith('@'))
    throw usage(`--${option} takes - or @FILE: an argument could be read by every user of this machine`);
  const secret = await readInput(source, call.io);
  if (secret === '') throw usage(`The ${option} is empty`);
  return secret;
}

/** The commands about stored Wi-Fi and Thread credentials. */
export const credentialCommands: readonly Command[] = [wifi, thread, threadImport, credentialsList, credentialsRemove];

export const halfCommissioned = toolCommand({
  name: 'half-commissioned',
  summary: 'devices whose commissioning was cut off, and what to do',
  examples: ['half-commissioned'],
  tool: 'hub:half_commissioned',
  columns: ['id', 'step', 'advice'],
});

export const forget = toolCommand({
  name: 'forget',
  summary: 'forget a half commissioned device after you have reset it',
  examples: ['forget 2f9c'],
  tool: 'hub:forget_half_commissioned',
  operands: [{ name: 'ID', help: "id that 'half-commissioned' shows", param: 'id' }],
});
