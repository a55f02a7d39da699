import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findDebianTool } from '../../scripts/network-lab/debian-tool.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { makePerson } from '../auth/approvals/approval-fixture.ts';
import { ownClock } from '../processor-time.ts';
import { BrokerEar, startBroker } from './connectors/broker.ts';
import { onLoopback } from './connectors/loopback-server.ts';
import { type HeardRequest, type SpokenAnswer, spokenService } from './connectors/spoken-service.ts';
import { RunningHub } from './running-hub.ts';

const TOOL = 'core:echo';
const RULES = `rules:\n  - { name: ask, effect: approve, when: { tool: "${TOOL}" } }\n`;
const LIMIT = { interval: 20, timeout: 20_000 };
const SIGNING_KEY = 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const TOPIC = 'home/people/dora';
const PHONE = '+4915112345678';

/** What a provider takes, as its documentation says it, and what it then answers. `undefined` for what it would refuse. */
interface Provider {
  readonly name: string;
  readonly way: (url: string) => JsonObject;
  /** Throws if the provider would refuse the request. */
  readonly read: (request: HeardRequest) => TakenMessage;
  readonly answer: (taken: TakenMessage) => SpokenAnswer;
}

interface TakenMessage {
  /** By which the provider knows a repeat; undefined where it has no such thing. */
  readonly id: string | undefined;
  readonly text: string;
}

const objectIn = ({ body }: HeardRequest): JsonObject => JSON.parse(body) as JsonObject;

/** Standard Webhooks 1.0: the id, the time and the body are signed with the secret behind `whsec_`, and old times are refused. */
const WEBHOOK: Provider = {
  name: 'webhook',
  way: (url) => ({ webhook: { url: `${url}/in`, signing_secret: 'env:SIGNING_SECRET' } }),
  read(request) {
    const { 'webhook-id': id = '', 'webhook-timestamp': at = '', 'webhook-signature': signatures = '' } = request.headers;
    const expected = createHmac('sha256', Buffer.from(SIGNING_KEY, 'base64')).update(`${id}.${at}.${request.body}`).digest('base64');
    expect(String(signatures).split(' ')).toContain(`v1,${expected}`);
    expect(Math.abs(Date.now() / 1_000 - Number(at))).toBeLessThan(300);
    expect(request.headers['content-type']).toMatch(/^application\/json/);
    const { message, link } = objectIn(request);
    return { id: String(id), text: `${message} ${link}` };
  },
  answer: () => ({ status: 204 }),
};

/** The Apprise API, POST /notify/{key}: `body` is required, `type` is one of four. It knows no id, so that a repeat is shown twice. */
const APPRISE: Provider = {
  name: 'apprise',
  way: (url) => ({ apprise: { url: `${url}/notify/home`, tag: 'carl' } }),
  read(request) {
    const { body, type, tag } = objectIn(request);
    expect(request).toMatchObject({ method: 'POST', path: '/notify/home' });
    expect(['info', 'success', 'warning', 'failure']).toContain(type);
    expect(tag).toBe('carl');
    return { id: undefined, text: String(body) };
  },
  answer: () => ({ status: 200, body: JSON.stringify({ error: null, details: [] }), headers: { 'content-type': 'application/json' } }),
};

/** Infobip, POST /sms/2/text/advanced: the sender may choose the id of each destination's message; the key stands behind `App`. */
const SMS: Provider = {
  name: 'sms',
  way: () => ({ sms: { phone: PHONE } }),
  read(request) {
    expect(request).toMatchObject({ method: 'POST', path: '/sms/2/text/advanced', headers: { authorization: 'App sms-key' } });
    const { messages } = objectIn(request) as unknown as { readonly messages: readonly [SmsMessage] };
    const [{ destinations, from, text }] = messages;
    expect({ from, to: destinations[0].to }).toEqual({ from: 'Home', to: PHONE });
    return { id: destinations[0].messageId, text };
  },
  answer: ({ id }) => ({
    status: 200,
    body: JSON.stringify({ messages: [{ messageId: id, to: PHONE, status: { groupId: 1, groupName: 'PENDING', id: 26 } }] }),
    headers: { 'content-type': 'application/json' },
  }),
};

interface SmsMessage {
  readonly from: string;
  readonly text: string;
  readonly destinations: readonly [{ readonly to: string; readonly messageId: string }];
}

const PROVIDERS = [WEBHOOK, APPRISE, SMS];
const MOSQUITTO = findDebianTool('mosquitto') !== undefined;
const WAYS = [...PROVIDERS.map(({ name }) => name), ...(MOSQUITTO ? ['mqtt'] : [])];

const stack = new AsyncDisposableStack();
/** Whether providers say that they took a message; until then they say nothing. */
let isAnswering = false;
const heard = new Map(PROVIDERS.map(({ name }): [string, TakenMessage[]] => [name, []]));
let ear: BrokerEar | undefined;
let hub: RunningHub;
let startHub: () => Promise<RunningHub>;

/** What came over a way, the first first. */
function messagesOf(way: string): readonly TakenMessage[] {
  if (way !== 'mqtt') return heard.get(way) ?? [];
  const taken = (ear?.heard ?? []).map(({ text }) => {
    const { id, message, link } = JSON.parse(text) as JsonObject;
    return { id: String(id), text: `${message} ${link}` };
  });
  return taken.filter(isRequest);
}

/** Whether a message is about a request for approval; the owner is also told that approvers were enrolled. */
function isRequest({ text }: TakenMessage): boolean {
  return text.includes(' wants: ');
}

const counts = () => WAYS.map((way) => messagesOf(way).length);

async function start(provider: Provider) {
  return stack.use(
    await spokenService((request) => {
      const message = provider.read(request);
      if (isRequest(message)) heard.get(provider.name)?.push(message);
      return isAnswering ? provider.answer(message) : 'hang';
    }),
  );
}

/** The address of a broker behind a line that carries nothing back once a notice went through it, until providers answer. */
async function brokerBehindLine(): Promise<string> {
  const broker = stack.use(await startBroker());
  ear = stack.use(await BrokerEar.listen(broker.url, TOPIC));
  const line = createServer((near: Socket) => {
    const far = connect(broker.port, '127.0.0.1').on('error', () => {});
    let isCut = false;
    near.on('data', (bytes: Buffer) => {
      isCut ||= !isAnswering && bytes.includes('Approval needed');
      far.write(bytes);
    });
    far.on('data', (bytes: Buffer) => isCut || near.write(bytes));
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  const { port } = stack.use(await onLoopback(line));
  return `mqtt://127.0.0.1:${port}`;
}

/** A new agent's call of the tool that people have to approve. */
async function ask(agent: string): Promise<void> {
  const { token } = await hub.result('hub:mint_token', { agent_id: agent, permissions: ['*'] });
  await hub.call(TOOL, { value: 'hello' }, { headers: { authorization: `Bearer ${token}` }, approve: false });
}

beforeAll(async () => {
  const stateDir = stack.adopt(mkdtempSync(join(tmpdir(), 'atmo-ways-')), (dir) => rmSync(dir, { recursive: true, force: true }));
  const services = await Promise.all(PROVIDERS.map(start));
  const urlOf = (name: string) => services[PROVIDERS.findIndex((one) => one.name === name)]?.url ?? '';
  const ways = [...PROVIDERS.map(({ name, way }) => [name, way(urlOf(name))] as const), ['mqtt', { mqtt: { topic: TOPIC } }] as const];
  const sms = {
    url: `${urlOf('sms')}/sms/2/text/advanced`,
    body: { messages: [{ destinations: [{ to: '{phone}', messageId: '{id}' }], from: 'Home', text: '{message}' }] },
    headers: { Authorization: 'App {secret}' },
    secret: 'env:SMS_KEY',
    id_at: '/messages/0/messageId',
  };
  const used = ways.filter(([name]) => WAYS.includes(name));
  const connectors = {
    notify: { recipients: Object.fromEntries(used.map(([name, way]) => [name, { ways: { only: way } }])) },
    sms,
    ...(MOSQUITTO && { mqtt: { url: await brokerBehindLine() } }),
  };
  const config = { matter: { enabled: false }, sensors: { discover: false }, connectors };
  const env = { SIGNING_SECRET: `whsec_${SIGNING_KEY}`, SMS_KEY: 'sms-key' };
  writeFileSync(join(stateDir, 'rules.yaml'), RULES, { mode: 0o600 });
  startHub = async () => stack.use(await RunningHub.start({ stateDir, env, config }));
  hub = await startHub();
  for (const person of WAYS) await hub.result('hub:enroll_approver', { person, key: makePerson(person).raw, label: 'phone' });
});
afterAll(() => stack.disposeAsync());

describe('a request for approval', () => {
  test('reaches its approvers over each way within two seconds, in the form that the provider documents, with a link', async () => {
    const elapsedMs = ownClock(hub.process.pid);
    await ask('claude');
    await expect.poll(counts, LIMIT).toEqual(WAYS.map(() => 1));
    expect(elapsedMs()).toBeLessThan(2_000);
    for (const way of WAYS)
      expect(messagesOf(way)[0]?.text).toMatch(/^(Approval needed\n)?claude wants: [\s\S]*Decide until [\s\S]*#\/approvals\/[0-9a-f]{32}$/);
  });

  test('is told once more under the same id by a hub that is killed between sending and recording', async () => {
    await hub.kill();
    isAnswering = true;
    hub = await startHub();
    await expect.poll(counts, LIMIT).toEqual(WAYS.map(() => 2));
    for (const way of WAYS) {
      const [first, second] = messagesOf(way);
      expect(second?.id).toBe(first?.id);
      if (way !== 'apprise') expect(first?.id).toMatch(/^[0-9a-f]{32}$/);
    }
  });

  test('is not told again after the providers took it, by a hub that starts anew and tells of another', async () => {
    await hub.stop();
    hub = await startHub();
    await ask('gemini');
    await expect.poll(counts, LIMIT).toEqual(WAYS.map(() => 3));
    for (const way of WAYS) expect(messagesOf(way)[2]?.text).toContain('gemini wants');
  });
});
