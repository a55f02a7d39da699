import type { Json, JsonObject } from '../../core/json.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { objectsIn } from '../hub/json-list.ts';
import { followJob } from '../job-wait.ts';
import type { Block } from '../terminal/page.ts';
import { readInput } from '../terminal/text-input.ts';
import { cellText, textTable } from '../terminal/text-table.ts';

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
    return undefined;
  },
};

/** What the person who commissions reads when the device looks like a removed one: only the person knows whether it is the same. */
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
  const attestation = call.text('attestation');
  const discriminator = call.integer('discriminator');
  return {
    ...texts(call, ['name', 'area', 'wifi', 'thread']),
    ...(code !== undefined && { code: await readInput(code, call.io) }),
    ...(passcode !== undefined && { passcode: passcodeOf(await readInput(passcode, call.io)) }),
    ...(discriminator !== undefined && { discriminator }),
    ...(address !== undefined && { address: parseAddress(address) }),
    ...(attestation !== undefined && { attestation }),
    ...(call.isSet('accept-attestation') && { accept_attestation: true }),
  };
}

function texts(call: Invocation, names: readonly string[]): Record<string, Json> {
  return Object.fromEntries(
    names.map((name) => [name, call.text(name)] as const).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}

function passcodeOf(text: string): number {
  if (/^\d{1,8}$/.test(text)) return Number(text);
  throw usage('A passcode has up to 8 digits, such as 20202021');
}

/** `HOST:PORT`, `[IPv6]:PORT`. */
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
