import { type Command, type Invocation, usage } from '../command.ts';
import { commandOf } from '../device-verbs.ts';
import { readInput } from '../terminal/text-input.ts';

const SET = { name: 'SET', help: 'name of the credential set' };

const credentialsList = commandOf({
  name: 'credentials list',
  summary: 'the credential sets; their secrets are never told',
  examples: ['credentials list'],
  tool: 'hub:list_credentials',
  columns: ['name', 'kind', 'network'],
  params: () => ({}),
});

const credentialsRemove = commandOf({
  name: 'credentials remove',
  summary: 'forget a credential set',
  examples: ['credentials remove home'],
  tool: 'hub:remove_credentials',
  operands: [SET],
  params: (call) => ({ name: call.operand(0) }),
});

const threadImport = commandOf({
  name: 'credentials thread-import',
  summary: "keep a Thread dataset from an OpenThread Border Router's REST API",
  examples: ['credentials thread-import home http://192.168.1.5:8081'],
  tool: 'hub:import_thread_credentials',
  operands: [SET, { name: 'URL', help: 'such as http://192.168.1.5:8081' }],
  params: (call) => ({ name: call.operand(0), router_url: call.operand(1) }),
});

const wifi: Command = {
  name: 'credentials wifi',
  summary: 'keep Wi-Fi credentials for devices that join over Bluetooth',
  examples: ["credentials wifi home 'My network' --password @wifi.txt"],
  operands: [SET, { name: 'SSID', help: 'name of the network' }],
  options: { password: { value: 'SOURCE', help: '- (stdin, the default) or @FILE' } },
  async run(call) {
    const password = await readSecret(call, 'password');
    const result = await call.hub.call('hub:set_wifi_credentials', { name: call.operand(0), ssid: call.operand(1), password });
    call.output.answer(result, () => `kept as ${call.operand(0)}\n`);
    return undefined;
  },
};

const thread: Command = {
  name: 'credentials thread',
  summary: 'keep a Thread operational dataset (TLV in hex)',
  examples: ['credentials thread home --dataset @dataset.txt'],
  operands: [SET],
  options: { dataset: { value: 'SOURCE', help: '- (stdin, the default) or @FILE' } },
  async run(call) {
    const dataset = await readSecret(call, 'dataset');
    const result = await call.hub.call('hub:set_thread_credentials', { name: call.operand(0), dataset });
    call.output.answer(result, () => `kept as ${call.operand(0)}\n`);
    return undefined;
  },
};

/** Secrets never come as an argument: every user of the machine can read those. */
async function readSecret(call: Invocation, option: string): Promise<string> {
  const source = call.text(option) ?? '-';
  if (source !== '-' && !source.startsWith('@'))
    throw usage(`--${option} takes - or @FILE: an argument could be read by every user of this machine`);
  const secret = await readInput(source, call.io);
  if (secret === '') throw usage(`The ${option} is empty`);
  return secret;
}

/** Named credential sets, write-only. */
export const credentialCommands: readonly Command[] = [wifi, thread, threadImport, credentialsList, credentialsRemove];
