import { describe, expect, test } from 'vitest';
import { type RateOptions, TokenRateLimiter } from '../../../src/auth/tokens/token-rate-limiter.ts';
import type { Principal, RateLimit } from '../../../src/core/auth/principal.ts';
import { OWNER } from '../../../src/core/auth/principal.ts';
import { ManualClock } from '../../manual-clock.ts';

/** An agent whose chain has these limits, root first; undefined for a link without one. */
function agent(id: string, ...limits: readonly (RateLimit | undefined)[]): Principal {
  const chain = limits.map(
    (_, index) =>
      `${id
        .split('/')
        .slice(0, index + 1)
        .join('/')}#`,
  );
  return {
    id,
    kind: 'agent',
    permissions: [],
    token: {
      id: chain.at(-1) ?? '',
      chain,
      text: '',
      expiresAtMs: 0,
      keys: [],
      rateLimits: limits.flatMap((limit, index) => (limit ? [{ tokenId: chain[index] ?? '', ...limit }] : [])),
    },
  };
}

function room(options: RateOptions = {}) {
  const clock = new ManualClock();
  const limiter = new TokenRateLimiter(clock, options);
  const isCharged = (principal: Principal): boolean => {
    try {
      limiter.charge(principal);
      return true;
    } catch {
      return false;
    }
  };
  const charges = (principal: Principal, tries: number) => Array.from({ length: tries }, () => isCharged(principal)).filter(Boolean).length;
  return { clock, limiter, isCharged, charges };
}

const FIVE_A_MINUTE = { calls: 5, seconds: 60 };

describe('a rate limit', () => {
  test('says how long to wait for the next call, and what is left', () => {
    const { clock, limiter, charges } = room();
    const bound = agent('a', FIVE_A_MINUTE);
    expect(limiter.left(bound)).toEqual([{ left: 5, calls: 5, seconds: 60 }]);
    charges(bound, 5);
    clock.advance(2_000);
    expect(() => limiter.charge(bound)).toThrow(expect.objectContaining({ details: { retry_after_ms: 10_000 } }));
    expect(limiter.left(bound)).toEqual([{ left: 0, calls: 5, seconds: 60 }]);
  });

  test('lets as many calls pass as it says, then one at a time', () => {
    const { clock, charges } = room();
    const bound = agent('a', FIVE_A_MINUTE);
    expect(charges(bound, 10)).toBe(5);
    clock.advance(11_999);
    expect(charges(bound, 10)).toBe(0);
    clock.advance(1);
    expect(charges(bound, 10)).toBe(1);
    clock.advance(3_600_000);
    expect(charges(bound, 10)).toBe(5);
  });

  test('says when the next call is possible, and to whom', () => {
    const { clock, limiter, charges } = room();
    const bound = agent('a', FIVE_A_MINUTE);
    charges(bound, 5);
    clock.advance(2_000);
    expect(() => limiter.charge(bound)).toThrow(
      expect.objectContaining({
        code: 'RATE_LIMITED',
        message: expect.stringContaining('a calls more often'),
        details: { retry_after_ms: 10_000 },
      }),
    );
  });

  test('of a parent is used up by its children together', () => {
    const { charges } = room();
    expect(charges(agent('a/x', FIVE_A_MINUTE, { calls: 3, seconds: 60 }), 10)).toBe(3);
    expect(charges(agent('a/y', FIVE_A_MINUTE, { calls: 3, seconds: 60 }), 10)).toBe(2);
    expect(charges(agent('a', FIVE_A_MINUTE), 10)).toBe(0);
  });

  test('a call that one token of the chain refuses is charged to none', () => {
    const { charges } = room();
    const child = agent('a/x', FIVE_A_MINUTE, { calls: 1, seconds: 60 });
    expect(charges(child, 100)).toBe(1);
    expect(charges(agent('a', FIVE_A_MINUTE), 10)).toBe(4);
  });

  test('of one token leaves the others alone', () => {
    const { charges } = room();
    expect(charges(agent('a', FIVE_A_MINUTE), 10)).toBe(5);
    expect(charges(agent('b', FIVE_A_MINUTE), 10)).toBe(5);
  });
});

describe('who has no limit of its own', () => {
  const defaultRate = { burst: 10, perSecond: 2 };

  test('gets the one of the hub, an agent called owner too', () => {
    const { clock, charges } = room({ defaultRate });
    expect([charges(agent('owner', undefined), 50), charges(agent('a', undefined), 50)]).toEqual([10, 10]);
    clock.advance(1_000);
    expect([charges(agent('owner', undefined), 50), charges(agent('a', undefined), 50)]).toEqual([2, 2]);
  });

  test('is bound by nothing where it is the owner', () => {
    const { charges } = room();
    expect(charges(OWNER, 2_000)).toBe(2_000);
  });

  test('cannot multiply itself by children, nor by a limit that it gives them itself', () => {
    const { charges } = room({ defaultRate });
    expect(charges(agent('a/x', undefined, undefined), 6)).toBe(6);
    expect(charges(agent('a/y', undefined, { calls: 1_000, seconds: 1 }), 50)).toBe(4);
  });

  test('a limit that the owner gave stands in for it', () => {
    const { charges } = room({ defaultRate });
    expect(charges(agent('a', { calls: 20, seconds: 1 }), 50)).toBe(20);
  });
});

describe('the memory of the limiter', () => {
  test('is bounded, and the one that calls most is not what is forgotten', () => {
    const { charges } = room({ maxBuckets: 3 });
    const busy = agent('busy', FIVE_A_MINUTE);
    expect(charges(busy, 10)).toBe(5);
    for (let index = 0; index < 100; index++) charges(agent(`other-${index}`, FIVE_A_MINUTE), 1);
    expect(charges(busy, 10)).toBe(0);
  });
});

test('a generous token does not replace the rate of one costly purpose, and a narrow one counts beside it', () => {
  const { charges } = room({ fixedRate: { burst: 6, perSecond: 0.1 } });
  expect(charges(agent('generous', { calls: 1000, seconds: 1 }), 50)).toBe(6);
  expect(charges(agent('narrow', { calls: 2, seconds: 60 }), 50)).toBe(2);
});
