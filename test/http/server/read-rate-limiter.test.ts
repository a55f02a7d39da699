import { expect, test } from 'vitest';
import { READ_RATE } from '../../../src/http/server/rate-limits.ts';
import { agent } from '../../calls/pipeline-fixture.ts';
import { AGENT_TOKEN, ask, authenticatorOf, makeHttpApi } from '../http-fixture.ts';

async function statusesOf(count: number, one: () => Promise<{ readonly status: number }>): Promise<readonly number[]> {
  return Promise.all(Array.from({ length: count }, async () => (await one()).status));
}

test('an account that reads in a circle waits, and nobody else does', async () => {
  const authenticator = authenticatorOf({ [AGENT_TOKEN]: agent('sensor:read'), other: { ...agent('sensor:read'), id: 'other' } });
  const { httpApi, clock } = makeHttpApi({ authenticator });
  const read = (token?: string) => ask(httpApi, '/api/v1/sensors', token === undefined ? {} : { token });
  const statuses = await statusesOf(READ_RATE.burst + 20, () => read(AGENT_TOKEN));
  expect(statuses.filter((status) => status === 429)).toHaveLength(20);
  const refused = await read(AGENT_TOKEN);
  expect([refused.json.code, refused.headers.get('retry-after')]).toEqual(['RATE_LIMITED', '1']);
  expect([(await read('other')).status, (await read()).status]).toEqual([200, 200]);
  // Calls are limited by their own rules, and what needs no token is nobody's.
  expect((await ask(httpApi, '/api/v1/tools/none/invoke', { token: AGENT_TOKEN, body: {} })).status).toBe(404);
  expect((await ask(httpApi, '/healthz', { token: AGENT_TOKEN })).status).toBe(200);
  clock.advance(1_000);
  expect((await statusesOf(READ_RATE.perSecond + 5, () => read(AGENT_TOKEN))).filter((status) => status === 200)).toHaveLength(
    READ_RATE.perSecond,
  );
});

test('the owner reads as often as he likes', async () => {
  const { httpApi } = makeHttpApi();
  const statuses = await statusesOf(READ_RATE.burst + 20, () => ask(httpApi, '/api/v1/sensors'));
  expect(new Set(statuses)).toEqual(new Set([200]));
});
