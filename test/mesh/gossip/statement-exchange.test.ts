import { expect, test } from 'vitest';
import { SimulatedMesh } from '../../../scripts/simulation/simulated-mesh.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { StatementSource } from '../../../src/mesh/gossip/statement-exchange.ts';

const [FORGED, GENUINE] = [Uint8Array.of(1), Uint8Array.of(2)];

test('a statement without a valid right is counted and dropped, and the others are merged all the same', async () => {
  await using mesh = new SimulatedMesh();
  const liar: StatementSource = { kind: 'token_revocation', statements: () => [FORGED, GENUINE], merge: () => false };
  const known: Uint8Array[] = [];
  const honest: StatementSource = {
    kind: 'token_revocation',
    statements: () => known,
    merge: (statement) => {
      if (statement[0] === FORGED[0]) throw new AtmoError('PERMISSION_DENIED', 'It is not signed by who may say so');
      known.push(statement);
      return true;
    },
  };
  const [bad, good] = [await mesh.add({ tools: [], statements: [liar] }), await mesh.add({ tools: [], statements: [honest] })];
  const dialled = bad.connect(good);
  await mesh.clock.run(2_000);
  await dialled;
  expect(known.map((statement) => [...statement])).toEqual([[...GENUINE]]);
  expect(good.gossip.drops.counts().bad_statement).toBeGreaterThan(0);
});

test('more statements than one answer may contain arrive in several answers', async () => {
  await using mesh = new SimulatedMesh();
  const many = Array.from({ length: 17_000 }, (_, index) => Uint8Array.of(3, index >> 8, index & 0xff));
  const told: StatementSource = { kind: 'token_revocation', statements: () => many, merge: () => false };
  const known = new Map<string, Uint8Array>();
  const merge = (statement: Uint8Array) => known.size < known.set(statement.join(), statement).size;
  const other: StatementSource = { kind: 'token_revocation', statements: () => [...known.values()], merge };
  const [one, two] = [await mesh.add({ tools: [], statements: [told] }), await mesh.add({ tools: [], statements: [other] })];
  const dialled = one.connect(two);
  await mesh.clock.run(2_000);
  await dialled;
  expect(known.size).toBe(many.length);
});
