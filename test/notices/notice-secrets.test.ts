import { randomBytes, randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Principal } from '../../src/core/auth/principal.ts';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { ApprovalNotices } from '../../src/notices/approval-notices.ts';
import { makeApprovals } from '../auth/approvals/approval-fixture.ts';
import { makePipeline, makeTool } from '../calls/pipeline-fixture.ts';
import { noticeParts, reachFake } from './notices-fixture.ts';

const MESSAGES = 1_000;
const TOGETHER = 25;
const MINUTE_MS = 60_000;
const OPEN = { type: 'object', additionalProperties: true };
const PARAMETERS = {
  type: 'object',
  properties: {
    pin: { type: 'string', 'x-secret': true },
    login: { type: 'object', properties: { user: { type: 'string' }, password: { type: 'string', 'x-secret': true } } },
    keys: { type: 'array', items: { type: 'string', 'x-secret': true } },
    text: { type: 'string' },
    inner: { ...OPEN, 'x-secret-members': true },
  },
};

const digits = (count: number) => Array.from({ length: count }, () => randomInt(10)).join('');
/** Secrets in the forms in which callers have them, each long enough to be in a message only if it was written there. */
const SECRETS: readonly (() => string)[] = [
  () => digits(8),
  () => `pw-${randomBytes(9).toString('base64url')}`,
  () => `"${randomBytes(6).toString('hex')}'\\\n${randomBytes(6).toString('hex')}`,
  () => randomBytes(32).toString('hex'),
  () => `ü${randomBytes(12).toString('base64')}`,
];
/** Tokens and codes, which are found anywhere. */
const TOKENS: readonly (() => string)[] = [
  () => `at1.${randomBytes(60).toString('base64url')}`,
  () => `at1.${randomBytes(40).toString('base64url')}.${randomBytes(20).toString('base64url')}`,
  () => `atmo-join1.${randomBytes(40).toString('base64url')}`,
  () => `MT:${randomBytes(10).toString('hex').toUpperCase()}`,
  () => `${digits(4)}-${digits(3)}-${digits(4)}`,
];
const pick = (from: readonly (() => string)[]) => (from[randomInt(from.length)] ?? (() => ''))();

/** A call that has secrets in some of the places where callers write them. */
function generatedCall(): { readonly params: JsonObject; readonly secrets: readonly string[] } {
  const secrets: string[] = [];
  const secret = (from = SECRETS) => {
    const one = pick(from);
    secrets.push(one);
    return one;
  };
  const some = (member: string, value: () => Json) => (randomInt(2) === 0 ? {} : { [member]: value() });
  const params = {
    pin: secret(),
    ...some('login', () => ({ user: 'ann', password: secret() })),
    ...some('keys', () => [secret(), secret()]),
    ...some('text', () => `the word is ${secret(TOKENS)}, keep it`),
    ...some('inner', () => ({ password: secret(), deep: { token: secret(TOKENS), list: [{ api_key: secret() }] } })),
  };
  return { params, secrets };
}

test('a thousand messages about calls with secrets hold no token, PIN or other secret', { timeout: 120_000 }, async () => {
  const approvals = await makeApprovals();
  await approvals.enrol('ann');
  const { clock, store, events, queue } = approvals;
  const reach = reachFake();
  const { notices, publisher, outbox, start, pass } = noticeParts({ clock, store, reach, personsFor: () => ['ann'] });
  const told = new ApprovalNotices({
    clock,
    store,
    logger: silentLogger,
    events,
    approvals: queue,
    notices,
    publisher,
    hubName: () => undefined,
  });
  const { registry, pipeline } = makePipeline({ clock, approvals: queue });
  registry.register(
    makeTool({
      name: 'vault',
      title: 'Open the vault',
      parameters: PARAMETERS,
      requires: { permissions: ['vault:open'] },
      metadata: { dangerous: true },
    }),
  );
  await start();
  await told.start();
  outbox.resume();

  const secrets: string[] = [];
  for (let count = 0; count < MESSAGES; count += 1) {
    const { params, secrets: own } = generatedCall();
    secrets.push(...own);
    const principal: Principal = { id: `agent-${count}`, kind: 'agent', permissions: ['*'] };
    const answer = await pipeline.call({ tool: 'vault', params, principal });
    expect(answer).toMatchObject({ status: 'error', error: { code: 'APPROVAL_REQUIRED' } });
    if (count % TOGETHER !== TOGETHER - 1) continue;
    await pass(500);
    await pass(11 * MINUTE_MS);
  }
  const messages = reach.sent.filter(({ way }) => way === 'phone');
  expect(messages).toHaveLength(MESSAGES);
  expect(secrets.length).toBeGreaterThan(2 * MESSAGES);
  const all = reach.sent.map(({ title, message, link, path }) => `${title}\n${message}\n${link}\n${path}`).join('\n');
  const inText = (secret: string) => all.includes(secret) || all.includes(JSON.stringify(secret).slice(1, -1));
  expect(secrets.filter(inText)).toEqual([]);
  expect(all).toContain('[secret]');
  expect(all).toContain('[redacted]');
});
