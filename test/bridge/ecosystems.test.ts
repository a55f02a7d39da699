import { beforeEach, describe, expect, test } from 'vitest';
import { BridgeStore } from '../../src/bridge/bridge-store.ts';
import { requireOneToken } from '../../src/bridge/bridge-tokens.ts';
import { Ecosystems } from '../../src/bridge/ecosystems.ts';
import type { Principal, TokenAuthority, TokenRecord, TokenRequest } from '../../src/core/auth/principal.ts';
import type { EcosystemFabric } from '../../src/core/devices/matter-bridge.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';

/** Tokens without signatures: those that were issued, and those of them that were revoked. */
class FakeTokens {
  readonly records = new Map<string, TokenRecord & { readonly principal: Principal }>();
  readonly #clock: ManualClock;

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  issue({ agentId, permissions, ttlMs }: TokenRequest, by: Principal) {
    const id = `token-${this.records.size + 1}`;
    const expiresAtMs = this.#clock.now() + ttlMs;
    const facts = { id, chain: [id], text: `text of ${id}`, expiresAtMs, keys: [], rateLimits: [] };
    const principal: Principal = { id: agentId, kind: 'agent', permissions, token: facts };
    this.records.set(id, { id, agentId, permissions, issuedAtMs: 0, expiresAtMs, issuedBy: by.id, principal });
    return { token: facts.text, principal };
  }

  principalOf(text: string): Principal {
    const record = this.records.get(text.replace('text of ', ''));
    if (!record || record.revokedAtMs !== undefined) throw new AtmoError('TOKEN_INVALID', 'revoked');
    return record.principal;
  }

  revoke(id: string): boolean {
    const record = this.records.get(id);
    if (record) this.records.set(id, { ...record, revokedAtMs: 1 });
    return record !== undefined;
  }

  find(id: string): TokenRecord | undefined {
    return this.records.get(id);
  }

  valid(): readonly string[] {
    return [...this.records.values()].filter(({ revokedAtMs }) => revokedAtMs === undefined).map(({ id }) => id);
  }
}

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

const grant = (...permissions: readonly string[]) => ecosystems.grant(1, new Map(permissions.map((one) => [one, [one]])));
const agents = () => ecosystems.list().map(({ agentId }) => agentId);

describe('an ecosystem', () => {
  test('is an agent of its own with exactly the permissions of what was chosen', () => {
    ecosystems.settle(1, [APPLE, GOOGLE]);
    grant(LAMP, PUMP);
    expect(agents()).toEqual(['ecosystem-1', 'ecosystem-2']);
    expect(ecosystems.principalOf(1, 'apple', [LAMP])).toMatchObject({ id: 'ecosystem-1', permissions: [LAMP, PUMP] });
    expect(ecosystems.principalOf(1, 'google', [LAMP])).toMatchObject({ id: 'ecosystem-2' });
    expect(() => ecosystems.principalOf(1, 'apple', ['device:control:safe'])).toThrow(/has not chosen/);
    expect(() => ecosystems.principalOf(2, 'apple', [LAMP])).toThrow(/removed/);
  });

  test('loses a permission with its thing, and the token that had it', () => {
    ecosystems.settle(1, [APPLE]);
    grant(LAMP, PUMP);
    grant(LAMP);
    expect(() => ecosystems.principalOf(1, 'apple', [PUMP])).toThrow(/has not chosen/);
    expect(tokens.valid()).toEqual(['token-2']);
  });

  test('keeps its tokens while nothing changes, and gets new ones long before they end', () => {
    ecosystems.settle(1, [APPLE]);
    grant(LAMP);
    grant(LAMP);
    expect(tokens.valid()).toEqual(['token-1']);
    clock.advance(250 * 86_400_000);
    grant(LAMP);
    expect(tokens.valid()).toEqual(['token-2']);
  });

  test('that left the bridge has no token any more', () => {
    ecosystems.settle(1, [APPLE, GOOGLE]);
    grant(LAMP);
    ecosystems.settle(1, [GOOGLE]);
    expect(agents()).toEqual(['ecosystem-2']);
    expect(tokens.valid()).toEqual(['token-2']);
  });

  test('that was removed does not come back while its fabric is still there, and has to leave', () => {
    ecosystems.settle(1, [APPLE]);
    grant(LAMP);
    for (const one of ecosystems.list()) ecosystems.end(one);
    expect(ecosystems.settle(1, [APPLE])).toEqual([APPLE.fabricIndex]);
    grant(LAMP);
    expect(agents()).toEqual([]);
    expect(tokens.valid()).toEqual([]);
    expect(() => ecosystems.principalOf(1, 'apple', [LAMP])).toThrow(/removed/);
    expect(ecosystems.settle(1, [])).toEqual([]);
    ecosystems.settle(1, [APPLE]);
    expect(agents()).toEqual(['ecosystem-2']);
  });

  test('whose token was revoked while the hub could not see it is ended', () => {
    ecosystems.settle(1, [APPLE]);
    grant(LAMP);
    tokens.revoke('token-1');
    expect(ecosystems.settle(1, [APPLE])).toEqual([APPLE.fabricIndex]);
    expect(agents()).toEqual([]);
  });

  test('with the index of one that left is another agent', () => {
    ecosystems.settle(1, [APPLE]);
    grant(LAMP);
    ecosystems.settle(1, [{ ...GOOGLE, fabricIndex: APPLE.fabricIndex }]);
    grant(LAMP);
    expect(agents()).toEqual(['ecosystem-2']);
    expect(() => ecosystems.principalOf(1, 'apple', [LAMP])).toThrow(/removed/);
  });

  test('with many things has several tokens, none too long, each thing in one of them', () => {
    const things = Array.from({ length: 50 }, (_, index) => `device:control:a-lamp-with-a-name-of-many-words-${index}`);
    ecosystems.settle(1, [APPLE]);
    grant(...things);
    expect(tokens.valid().length).toBeGreaterThan(1);
    for (const { permissions } of tokens.records.values()) expect(permissions.join('  ').length).toBeLessThan(1_300);
    for (const thing of things) expect(ecosystems.principalOf(1, 'apple', [thing]).permissions).toContain(thing);
  });
});

test('a scene that needs more than a token can hold is refused before it is bridged', () => {
  const permissions = Array.from({ length: 60 }, (_, index) => `device:control:lamp-number-${index}`);
  expect(() => requireOneToken('All off', permissions)).toThrow(/All off controls too many devices/);
  expect(() => requireOneToken('Night', permissions.slice(0, 10))).not.toThrow();
});
