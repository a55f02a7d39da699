import { beforeEach, describe, expect, test } from 'vitest';
import { BridgeStore } from '../../src/bridge/bridge-store.ts';
import { requireOneToken } from '../../src/bridge/bridge-tokens.ts';
import { Ecosystems } from '../../src/bridge/ecosystems.ts';
import { OWNER, type TokenAuthority } from '../../src/core/auth/principal.ts';
import type { EcosystemFabric } from '../../src/core/devices/matter-bridge.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';
import { FakeTokens } from './fake-tokens.ts';

const APPLE: EcosystemFabric = { fabricIndex: 1, fabricId: '01', identity: 'apple', vendorId: 0x1349, label: 'Home' };
const GOOGLE: EcosystemFabric = { fabricIndex: 2, fabricId: '02', identity: 'google', vendorId: 0x6006, label: 'Home' };
const LAMP = 'device:control:lamp';
const PUMP = 'device:control:pump';

let clock: ManualClock;
let tokens: FakeTokens;
let store: BridgeStore;
let ecosystems: Ecosystems;

beforeEach(() => {
  clock = new ManualClock();
  tokens = new FakeTokens(clock);
  store = new BridgeStore(new MemoryKeyValueStore(clock));
  ecosystems = new Ecosystems({ store, tokens: tokens as unknown as TokenAuthority, clock });
});

const need = (...permissions: readonly string[]) => ({ permissions });
const grant = (...permissions: readonly string[]) => ecosystems.grant(1, new Map(permissions.map((one) => [one, need(one)])));

/** The fabrics join one after the other, each while the owner has the bridge open. */
function join(...fabrics: readonly EcosystemFabric[]): void {
  for (const count of fabrics.keys()) {
    clock.advance(1_000);
    open();
    ecosystems.settle(1, fabrics.slice(0, count + 1));
  }
}

const open = () => ecosystems.expect(1, 900_000);
const agents = () => ecosystems.list().map(({ agentId }) => agentId);

describe('an ecosystem', () => {
  test('is an agent of its own with exactly the permissions of what was chosen', () => {
    join(APPLE, GOOGLE);
    grant(LAMP, PUMP);
    expect(agents()).toEqual(['ecosystem-1', 'ecosystem-2']);
    expect(ecosystems.principalOf(1, 'apple', need(LAMP))).toMatchObject({ id: 'ecosystem-1', permissions: [LAMP, PUMP] });
    expect(ecosystems.principalOf(1, 'google', need(LAMP))).toMatchObject({ id: 'ecosystem-2' });
    expect(() => ecosystems.principalOf(1, 'apple', need('device:control:safe'))).toThrow(/has not chosen/);
    expect(() => ecosystems.principalOf(2, 'apple', need(LAMP))).toThrow(/removed/);
  });

  test('loses a permission with its thing, and the token that had it', () => {
    join(APPLE);
    grant(LAMP, PUMP);
    grant(LAMP);
    expect(() => ecosystems.principalOf(1, 'apple', need(PUMP))).toThrow(/has not chosen/);
    expect(tokens.valid()).toEqual(['token-2']);
  });

  test('keeps its tokens while nothing changes, and gets new ones long before they end', () => {
    join(APPLE);
    grant(LAMP);
    grant(LAMP);
    expect(tokens.valid()).toEqual(['token-1']);
    clock.advance(250 * 86_400_000);
    grant(LAMP);
    expect(tokens.valid()).toEqual(['token-2']);
  });

  test('that left the bridge has no token any more', () => {
    join(APPLE, GOOGLE);
    grant(LAMP);
    ecosystems.settle(1, [GOOGLE]);
    expect(agents()).toEqual(['ecosystem-2']);
    expect(tokens.valid()).toEqual(['token-2']);
  });

  test('that was removed does not come back while its fabric is still there, and has to leave', () => {
    join(APPLE);
    grant(LAMP);
    for (const one of ecosystems.list()) ecosystems.end(one);
    expect(ecosystems.settle(1, [APPLE])).toEqual([APPLE.fabricIndex]);
    grant(LAMP);
    expect(agents()).toEqual([]);
    expect(tokens.valid()).toEqual([]);
    expect(() => ecosystems.principalOf(1, 'apple', need(LAMP))).toThrow(/removed/);
    expect(ecosystems.settle(1, [])).toEqual([]);
    join(APPLE);
    expect(agents()).toEqual(['ecosystem-2']);
  });

  test('whose token was revoked while the hub could not see it is ended', () => {
    join(APPLE);
    grant(LAMP);
    tokens.revoke('token-1');
    expect(ecosystems.settle(1, [APPLE])).toEqual([APPLE.fabricIndex]);
    expect(agents()).toEqual([]);
  });

  test('whose token was revoked gets no new one, whatever is compared first', () => {
    join(APPLE);
    grant(LAMP);
    tokens.revoke('token-1');
    grant(LAMP);
    expect(agents()).toEqual([]);
    expect(tokens.valid()).toEqual([]);
  });

  test('that joins after a start is not let in by a window of before, whatever the clock says', () => {
    join(APPLE);
    ecosystems = new Ecosystems({ store, tokens: tokens as unknown as TokenAuthority, clock });
    expect(ecosystems.settle(1, [APPLE, GOOGLE])).toEqual([GOOGLE.fabricIndex]);
    expect(agents()).toEqual(['ecosystem-1']);
  });

  test('never gets the name of an agent that there is already', () => {
    tokens.issue({ agentId: 'ecosystem-1', permissions: [LAMP], ttlMs: 60_000 }, OWNER);
    join(APPLE);
    expect(agents()).toEqual(['ecosystem-2']);
  });

  test('that nobody let in has to leave, without a token', () => {
    expect(ecosystems.settle(1, [APPLE])).toEqual([APPLE.fabricIndex]);
    open();
    clock.advance(3_600_000);
    expect(ecosystems.settle(1, [APPLE])).toEqual([APPLE.fabricIndex]);
    grant(LAMP);
    expect(agents()).toEqual([]);
    expect(tokens.valid()).toEqual([]);
  });

  test('lets no other one in when the bridge is closed again', () => {
    join(APPLE);
    clock.advance(1_800_000);
    expect(ecosystems.settle(1, [APPLE, GOOGLE])).toEqual([GOOGLE.fabricIndex]);
    expect(agents()).toEqual(['ecosystem-1']);
  });

  test('whose commissioning failed may try again while the bridge is open', () => {
    join(APPLE);
    ecosystems.settle(1, []);
    expect(ecosystems.settle(1, [{ ...APPLE, fabricIndex: 2 }])).toEqual([]);
    expect(agents()).toEqual(['ecosystem-2']);
  });

  test('with the index of one that left is another agent', () => {
    join(APPLE);
    grant(LAMP);
    join({ ...GOOGLE, fabricIndex: APPLE.fabricIndex });
    grant(LAMP);
    expect(agents()).toEqual(['ecosystem-2']);
    expect(() => ecosystems.principalOf(1, 'apple', need(LAMP))).toThrow(/removed/);
  });

  test('with many things has several tokens, none too long, each thing in one of them', () => {
    const things = Array.from({ length: 50 }, (_, index) => `device:control:a-lamp-with-a-name-of-many-words-${index}`);
    join(APPLE);
    grant(...things);
    expect(tokens.valid().length).toBeGreaterThan(1);
    for (const { permissions } of tokens.records.values()) expect(permissions.join('  ').length).toBeLessThan(1_300);
    for (const thing of things) expect(ecosystems.principalOf(1, 'apple', need(thing)).permissions).toContain(thing);
  });
});

test('a scene that needs more than a token can hold is refused before it is bridged', () => {
  const permissions = Array.from({ length: 60 }, (_, index) => `device:control:lamp-number-${index}`);
  expect(() => requireOneToken('All off', permissions)).toThrow(/All off controls too many devices/);
  expect(() => requireOneToken('Night', permissions.slice(0, 10))).not.toThrow();
});
