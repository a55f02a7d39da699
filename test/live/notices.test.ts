import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
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
  const askedMs = performance.now();
  const { error } = await ask(hub, 'hello');
  expect(error.code).toBe('APPROVAL_REQUIRED');
  await expect.poll(messages, LIMIT).toHaveLength(1);
  expect(performance.now() - askedMs).toBeLessThan(2_000);
  expect(messages()).toMatchObject([
    { topic: 'owner', title: 'Approval needed', priority: 4, click: `${hub.url}/#/approvals/${error.details.approval_id}` },
  ]);
  expect(messages()[0]?.message).toMatch(/^claude wants: .*Decide until \d\d:\d\d\.$/);
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
