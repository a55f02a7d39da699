import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { makePerson } from '../auth/approvals/approval-fixture.ts';
import { receiver, vapidClaims } from '../connectors/push/push-receiver.ts';
import { ownClock } from '../processor-time.ts';
import { onLoopback } from './connectors/loopback-server.ts';
import { mailServer } from './connectors/mail-server.ts';
import { type SpokenAnswer, spokenService } from './connectors/spoken-service.ts';
import { RunningHub } from './running-hub.ts';

const TOOL = 'core:echo';
const RULES = `rules:\n  - { name: ask, effect: approve, when: { tool: "${TOOL}" } }\n`;
const LIMIT = { interval: 20 };
const TAKEN: SpokenAnswer = { status: 200, body: JSON.stringify({ id: 'n1', event: 'message' }) };

let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

/** A hub whose owner is reached at an ntfy server that answers as `answer` says, and an agent whose calls wait for the owner. */
async function home(answer: () => SpokenAnswer) {
  const stateDir = stack.adopt(mkdtempSync(join(tmpdir(), 'atmo-notices-')), (dir) => rmSync(dir, { recursive: true, force: true }));
  const ntfy = stack.use(await spokenService(answer));
  const recipients = { owner: { ways: { phone: { ntfy: { url: `${ntfy.url}/owner` } } } } };
  const config = { matter: { enabled: false }, sensors: { discover: false }, connectors: { notify: { recipients } } };
  writeFileSync(join(stateDir, 'rules.yaml'), RULES, { mode: 0o600 });
  const start = (): Promise<RunningHub> => RunningHub.start({ stateDir, config });
  const hub = stack.use(await start());
  const { token } = await hub.result('hub:mint_token', { agent_id: 'claude', permissions: ['*'] });
  const ask = (one: RunningHub, value: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return one.call(TOOL, { value }, { headers, approve: false }) as Promise<unknown> as Promise<{
      error: { code: string; details: JsonObject };
    }>;
  };
  return { ntfy, hub, start, ask, token: String(token), messages: () => ntfy.heard.map(({ body }) => JSON.parse(body) as JsonObject) };
}

test('a call that waits for people reaches its approver within two seconds, with a link and without a secret', async () => {
  const { hub, ask, messages, token } = await home(() => TAKEN);
  const elapsedMs = ownClock(hub.process.pid);
  const { error } = await ask(hub, 'hello');
  expect(error.code).toBe('APPROVAL_REQUIRED');
  await expect.poll(messages, LIMIT).toHaveLength(1);
  expect(elapsedMs()).toBeLessThan(2_000);
  expect(messages()).toMatchObject([
    { topic: 'owner', title: 'Approval needed', priority: 4, click: `${hub.url}/#/approvals/${error.details.approval_id}` },
  ]);
  expect(messages()[0]?.message).toMatch(/^claude wants: .*Decide until \d\d:\d\d( on \d+ \w+ \d{4})?\.$/);
  expect(JSON.stringify(messages())).not.toContain(token);
});

test('a hub that is killed before the provider took the message sends it after its next start, under the same id', async () => {
  let isUp = false;
  const { hub, start, ask, messages } = await home(() => (isUp ? TAKEN : { status: 503 }));
  await ask(hub, 'hello');
  await expect.poll(() => messages().length, LIMIT).toBeGreaterThan(0);
  await hub.kill();
  isUp = true;
  const tried = messages().length;
  stack.use(await start());
  await expect.poll(() => messages().length, LIMIT).toBe(tried + 1);
  expect(new Set(messages().map(({ sequence_id: id }) => id)).size).toBe(1);
});

/** A push service, and one browser that is subscribed to it: what the browser reads, and when it came. */
async function pushService(nowMs: () => number) {
  const browser = receiver();
  const heard: { readonly message: JsonObject; readonly atMs: number; readonly headers: Readonly<Record<string, unknown>> }[] = [];
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    heard.push({ message: browser.read(body) as JsonObject, atMs: nowMs(), headers: request.headers });
    response.writeHead(201).end();
  });
  const { url, ...rest } = await onLoopback(server);
  return { ...rest, heard, subscription: { endpoint: `${url}/send/1`, keys: browser.keys, expirationTime: null, label: 'phone' } };
}

const CALLS = 30;

test('thirty calls reach three approvers by ntfy, mail and an encrypted push message, 95 % within two seconds', async () => {
  const stateDir = stack.adopt(mkdtempSync(join(tmpdir(), 'atmo-notices-')), (dir) => rmSync(dir, { recursive: true, force: true }));
  let elapsedMs = () => 0;
  const nowMs = () => elapsedMs();
  const ntfyMs = new Map<string, number>();
  const agentIn = (text: string) => /agent-\d+/.exec(text)?.[0] ?? '';
  const ntfy = stack.use(
    await spokenService(({ body }) => {
      if (agentIn(body) !== '') ntfyMs.set(agentIn(body), nowMs());
      return TAKEN;
    }),
  );
  const mail = stack.use(await mailServer({ nowMs }));
  const push = stack.use(await pushService(nowMs));
  const recipients = {
    ann: { ways: { phone: { ntfy: { url: `${ntfy.url}/ann` } } } },
    bob: { ways: { mail: { email: { to: 'bob@example.org' } } } },
  };
  const email = { host: '127.0.0.1', port: mail.port, security: 'none', from: 'hub@example.org' };
  const connectors = { notify: { recipients }, email, push: { allowed_hosts: ['127.0.0.1'] } };
  writeFileSync(join(stateDir, 'rules.yaml'), RULES, { mode: 0o600 });
  const hub = stack.use(
    await RunningHub.start({ stateDir, config: { matter: { enabled: false }, sensors: { discover: false }, connectors } }),
  );
  elapsedMs = ownClock(hub.process.pid);
  for (const person of ['ann', 'bob']) await hub.result('hub:enroll_approver', { person, key: makePerson(person).raw, label: 'phone' });
  const headers = { 'content-type': 'application/json' };
  const subscribed = await hub.request('/api/v1/push/subscriptions', { method: 'POST', headers, body: JSON.stringify(push.subscription) });
  expect(subscribed.status).toBe(201);
  const before = push.heard.length;

  const askedMs = new Map<string, number>();
  for (let count = 0; count < CALLS; count++) {
    const agent = `agent-${count}`;
    const { token } = await hub.result('hub:mint_token', { agent_id: agent, permissions: ['*'] });
    const asAgent = { headers: { authorization: `Bearer ${token}` }, approve: false } as const;
    askedMs.set(agent, nowMs());
    // The second call differs in its text alone, so that it is the same question once more.
    for (const value of ['hello', 'hello again']) await hub.call(TOOL, { value }, asAgent);
  }
  const pushed = () => push.heard.slice(before).filter(({ message }) => agentIn(String(message.text)) !== '');
  const mailed = () => mail.taken.filter(({ text }) => agentIn(text) !== '');
  await expect.poll(() => [ntfyMs.size, mailed().length, pushed().length], { ...LIMIT, timeout: 20_000 }).toEqual([CALLS, CALLS, CALLS]);

  const pushMs = new Map(pushed().map(({ message, atMs }) => [agentIn(String(message.text)), atMs]));
  const mailMs = new Map(mailed().map(({ text, atMs }) => [agentIn(text), atMs]));
  for (const [way, came] of Object.entries({ ntfy: ntfyMs, mail: mailMs, push: pushMs })) {
    const latencies = [...askedMs].map(([agent, ms]) => (came.get(agent) ?? Number.POSITIVE_INFINITY) - ms).sort((a, b) => a - b);
    const p95Ms = latencies[Math.floor(latencies.length * 0.95)] ?? Number.POSITIVE_INFINITY;
    console.log(`call → ${way}: p50 ${Math.round(latencies[latencies.length >> 1] ?? 0)} ms, p95 ${Math.round(p95Ms)} ms`);
    expect(p95Ms, way).toBeLessThan(2_000);
  }
  const { key } = (await hub.get('/api/v1/push/key')) as { readonly key: string };
  for (const { message, headers: sent } of pushed()) {
    expect(vapidClaims(String(sent.authorization), key)).toMatchObject({ aud: expect.stringContaining('127.0.0.1') });
    expect(message.path).toMatch(/^\/#\/approvals\/[0-9a-f]{32}$/);
    // What was sent before the second call came says nothing of it.
    expect([undefined, 2]).toContain(message.count);
    expect(sent.topic).toBe(message.id);
  }
  expect(pushed().map(({ message }) => message.count)).toContain(2);
  expect(mailed()[0]?.text).toMatch(/^Message-ID: <[0-9a-f]{32}@/im);
});
