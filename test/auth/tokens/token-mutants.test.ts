import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { signChild, signRoot, tokenText } from '../../../src/auth/tokens/token-chain.ts';
import { keyPair, refusalOf, tokenServices } from './token-fixture.ts';

const MUTANTS = 20_000;

/** Small and seeded, so that a mutant that gets through can be made again. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function mutant(bytes: Uint8Array, pick: (below: number) => number): Uint8Array {
  const copy = [...bytes];
  const at = pick(copy.length);
  const kind = pick(6);
  if (kind === 0) copy[at] = (copy[at] ?? 0) ^ (1 << pick(8));
  else if (kind === 1) copy[at] = ((copy[at] ?? 0) + 1 + pick(255)) % 256;
  else if (kind === 2) copy.splice(at, 1 + pick(8));
  else if (kind === 3) copy.splice(at, 0, ...Array.from({ length: 1 + pick(4) }, () => pick(256)));
  else if (kind === 4) copy.splice(pick(copy.length), 0, ...copy.slice(at, at + 1 + pick(64)));
  else copy.length = at;
  return Uint8Array.from(copy);
}

describe('mutants of a sound chain', () => {
  test(`none of ${MUTANTS} is accepted`, async () => {
    const setup = await tokenServices();
    const agent = keyPair();
    const root = signRoot(setup.rootClaims({ key: agent.publicKey, maxHops: 3 }), setup.hub.privateKey);
    const claims = setup.rootClaims({ issuer: 'light-agent', subject: 'light-agent/helper', maxHops: 2 });
    const sound = [root, signChild(root, claims, agent.privateKey)];
    const soundTexts = sound.map(tokenText);
    for (const text of soundTexts) expect(refusalOf(() => setup.verifier.verify(text))).toBeUndefined();
    const pick = numbers(1);
    const accepted: string[] = [];
    const codes = new Set<string>();
    for (let count = 0; count < MUTANTS; count++) {
      const text = tokenText(mutant(sound[count % 2] ?? root, pick));
      const refused = refusalOf(() => setup.verifier.verify(text));
      if (refused) codes.add(refused.code);
      else if (!soundTexts.includes(text)) accepted.push(text);
    }
    expect(accepted).toEqual([]);
    expect([...codes]).toEqual(['TOKEN_INVALID']);
    // Half of them cost a verification: seconds on a busy board.
  });

  test('no text whatever makes the verifier fail in another way than refusing', async () => {
    const { verifier } = await tokenServices();
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String(), fc.uint8Array({ maxLength: 64 }).map(tokenText)), (text) => {
        expect(refusalOf(() => verifier.verify(text))?.code).toBe('TOKEN_INVALID');
      }),
      { numRuns: 2_000 },
    );
  });
});
