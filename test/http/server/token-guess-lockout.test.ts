import { describe, expect, test } from 'vitest';
import { sourceOf } from '../../../src/http/server/addresses.ts';
import { TokenGuessLockout } from '../../../src/http/server/rate-limits.ts';
import { ManualClock } from '../../manual-clock.ts';
import { AGENT_TOKEN, HOST, makeHttpApi, TOKEN } from '../http-fixture.ts';

function makeGuard() {
  const clock = new ManualClock();
  const told: string[] = [];
  return { clock, told, guard: new TokenGuessLockout(clock, (source) => told.push(source)) };
}

function guess(guard: TokenGuessLockout, source: string, count: number, from = 0): void {
  for (let index = from; index < from + count; index++) guard.failed(source, `guess ${index}`);
}

const lockedOut = expect.objectContaining({ code: 'RATE_LIMITED' });

describe('who guesses tokens', () => {
  test('is locked out after a hundred, for twice as long each time, an hour at most', () => {
    const { guard, clock, told } = makeGuard();
    guess(guard, 'a', 99);
    guard.admit('a', 'x');
    guess(guard, 'a', 1, 99);
    expect(() => guard.admit('a', 'x')).toThrow(lockedOut);
    clock.advance(30_000);
    guard.admit('a', 'x');
    guess(guard, 'a', 1, 100);
    clock.advance(30_000);
    expect(() => guard.admit('a', 'x')).toThrow(expect.objectContaining({ details: { retry_after_ms: 30_000 } }));
    guess(guard, 'a', 1_000, 101);
    expect(() => guard.admit('a', 'x')).toThrow(expect.objectContaining({ details: { retry_after_ms: 3_600_000 } }));
    expect(told).toEqual(['a']);
    clock.advance(3_600_000);
    guard.admit('a', 'x');
  });

  test('locks out no other source, and nobody with a token that was right before', () => {
    const { guard } = makeGuard();
    guard.succeeded('right', 'owner:owner');
    guess(guard, 'a', 200);
    guard.admit('a', 'right');
    guard.admit('b', 'never seen');
    expect(() => guard.admit('a', 'never seen')).toThrow(lockedOut);
  });

  test('cannot make the hub forget the tokens of others with many right ones of his own', () => {
    const { guard } = makeGuard();
    guard.succeeded('right', 'owner:owner');
    for (let index = 0; index < 5_000; index++) guard.succeeded(`narrower ${index}`, 'agent:spy');
    guess(guard, 'local', 200);
    guard.admit('local', 'right');
    guard.admit('local', 'narrower 4999');
    expect(() => guard.admit('local', 'narrower 1')).toThrow(lockedOut);
  });

  test('is forgotten after two hours; a script with one old token never was one', () => {
    const { guard, clock } = makeGuard();
    for (let index = 0; index < 500; index++) guard.failed('script', 'old');
    guard.admit('script', 'x');
    guess(guard, 'a', 99);
    clock.advance(7_200_000);
    guess(guard, 'a', 99, 1_000);
    guard.admit('a', 'x');
  });

  test('costs a bounded place however many addresses he has', () => {
    const { guard } = makeGuard();
    for (let index = 0; index < 10_000; index++) guess(guard, `source ${index}`, 1);
    guess(guard, 'a', 100);
    expect(() => guard.admit('a', 'x')).toThrow(lockedOut);
  });
});

test('an IPv4 address, a /64 of IPv6 and this machine are one source each', () => {
  const named = [
    '192.168.1.5',
    '::ffff:192.168.1.5',
    '2001:db8:0:1::5',
    '2001:db8:0:1:ffff::',
    '2001:db8::1',
    '127.0.0.1',
    '::1',
    undefined,
  ];
  expect(named.map(sourceOf)).toEqual([
    '192.168.1.5',
    '192.168.1.5',
    '2001:db8:0:1::/64',
    '2001:db8:0:1::/64',
    '2001:db8:0:0::/64',
    'local',
    'local',
    'local',
  ]);
});

test('a thousand guesses at the door: 429 with Retry-After, the owner is told once, the right token works from elsewhere', async () => {
  const { httpApi, events, logged, metrics } = makeHttpApi();
  const warnings: unknown[] = [];
  events.listen(({ type, data }) => type === 'hub.warning' && warnings.push(data));
  const ask = (token: string, remoteAddress: string, path = '/api/v1/tools') => {
    const init = { headers: { host: HOST, authorization: `Bearer ${token}` } };
    return httpApi.app.request(`http://${HOST}${path}`, init, { incoming: { socket: { remoteAddress } } as never });
  };
  expect((await ask(AGENT_TOKEN, '192.168.1.66')).status).toBe(200);
  const seen = new Set<number>();
  for (let index = 0; index < 1_000; index++) seen.add((await ask(`guess-${index}`, '192.168.1.66')).status);
  expect([...seen]).toEqual([401, 429]);
  const locked = await ask(TOKEN, '192.168.1.66');
  expect([locked.status, Number(locked.headers.get('retry-after'))]).toEqual([429, 30]);
  expect((await ask(TOKEN, '192.168.1.66', '/healthz')).status).toBe(200);
  expect((await ask(AGENT_TOKEN, '192.168.1.66')).status).toBe(200);
  expect((await ask(TOKEN, '192.168.1.7')).status).toBe(200);
  expect(warnings).toEqual([{ warning: 'http.token_guesses', source: '192.168.1.66', failures: 100, locked_ms: 30_000 }]);
  expect(logged.filter((line) => line.includes('http.token_guesses'))).toHaveLength(1);
  expect(metrics.text()).toContain('atmo_http_lockouts_total 1');
  expect(logged.join('')).not.toContain('guess-5');
});

test('who guesses on this machine keeps out nobody on it: wrong tokens are told 429, right ones that are new are let in', async () => {
  const { httpApi } = makeHttpApi();
  const ask = async (token: string) => {
    const init = { headers: { host: HOST, authorization: `Bearer ${token}` } };
    return (
      await httpApi.app.request(`http://${HOST}/api/v1/tools`, init, { incoming: { socket: { remoteAddress: '127.0.0.1' } } as never })
    ).status;
  };
  for (let index = 0; index < 150; index++) await ask(`guess-${index}`);
  expect(await ask('guess-again')).toBe(429);
  expect(await ask(AGENT_TOKEN)).toBe(200);
  expect(await ask('guess-once-more')).toBe(429);
});
