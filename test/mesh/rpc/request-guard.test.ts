import { expect, test } from 'vitest';
import { type OpenedRequest, RequestGuard, type RequestHead } from '../../../src/mesh/rpc/request-guard.ts';
import { ManualClock } from '../../manual-clock.ts';
import { refusalOf } from '../membership/membership-fixture.ts';
import { CountedDrops, identities } from './link-fixture.ts';

function makeGuard() {
  const [entry, other, self] = identities(3);
  if (!entry || !other || !self) throw new Error('three are needed');
  const [clock, drops] = [new ManualClock(), new CountedDrops()];
  let verified = 0;
  const tokens = {
    principalOf: (text: string) => {
      verified++;
      const [, key = ''] = text.split(' ');
      const token = { id: text, chain: [text], text, expiresAtMs: 0, keys: [key], rateLimits: [] };
      return { id: 'a', kind: 'agent' as const, permissions: [], token };
    },
  };
  const members = {
    keyOf: (id: string) =>
      [entry, other].filter((hub) => hub.id === id).map(({ publicKey, verifyKey }) => ({ key: publicKey, publicKey: verifyKey }))[0],
  };
  const guard = new RequestGuard({
    self: self.id,
    epoch: () => 1,
    members,
    tokens,
    clock,
    time: clock,
    links: { to: () => undefined },
    drops,
  });
  const show = (name: string, hub = entry) => {
    const statement = { token: `${name} ${hub.publicKey}`, entryHub: hub.id };
    return () => guard.principalOf({ statement, forwarded: { visited: [hub.id] } } as unknown as OpenedRequest<RequestHead>);
  };
  return { clock, drops, show, other, verified: () => verified };
}

test('a hub that shows ever new tokens is refused before they are verified; known ones, and those of other hubs, count on', () => {
  const { clock, drops, show, other, verified } = makeGuard();
  for (let number = 0; number < 256; number++) expect(show(`t${number}`)().id).toBe('a');
  expect(refusalOf(show('one-too-many')).code).toBe('RATE_LIMITED');
  expect([verified(), drops.counts]).toEqual([256, { 'call.new_tokens': 1 }]);
  expect([show('t7')().id, show('t0', other)().id]).toEqual(['a', 'a']);
  clock.advance(1_000);
  expect(show('one-too-many')().id).toBe('a');
});
