import { describe, expect, test } from 'vitest';
import type { SimulatedHub } from '../../../scripts/simulation/simulated-hub.ts';
import { SimulatedMesh } from '../../../scripts/simulation/simulated-mesh.ts';
import { statementRequestCodec, syncRequestCodec } from '../../../src/codec/messages/sync.ts';
import type { AtmoError } from '../../../src/core/errors.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';

/** Two connected hubs that know each other. */
async function pair(mesh: SimulatedMesh): Promise<readonly [SimulatedHub, SimulatedHub]> {
  const [one, other] = [await mesh.add({ tools: [] }), await mesh.add({ tools: [] })];
  const dialled = one.connect(other);
  await mesh.clock.run(50);
  await dialled;
  await mesh.converge(1_000);
  await mesh.clock.run(1_000);
  return [one, other];
}

const toolsKnown = ({ gossip }: SimulatedHub) => gossip.catalogue.all().length;

describe('hubs that compare what they know', () => {
  test('exchange what is missing as soon as they are connected', async () => {
    await using mesh = new SimulatedMesh();
    mesh.network.loseGossip(1);
    const [one, other] = [await mesh.add({ tools: [makeTool({})] }), await mesh.add({ tools: [] })];
    const dialled = one.connect(other);
    expect(await mesh.clock.run(10_000, () => toolsKnown(other) === 1)).toBeLessThan(500);
    await dialled;
  });

  test('exchange what is missing within 33 s, although gossip delivers nothing', async () => {
    await using mesh = new SimulatedMesh();
    const [one, other] = await pair(mesh);
    mesh.network.loseGossip(1);
    one.registry.register(makeTool({}));
    expect(await mesh.clock.run(40_000, () => toolsKnown(other) === 1)).toBeLessThan(33_500);
  });

  test('exchange what is missing at once when gossip shows a gap', async () => {
    await using mesh = new SimulatedMesh();
    const [one, other] = await pair(mesh);
    mesh.network.loseGossip(1);
    one.registry.register(makeTool({ name: 'missed' }));
    await mesh.clock.run(500);
    expect(toolsKnown(other)).toBe(0);
    mesh.network.loseGossip(0);
    one.registry.register(makeTool({ name: 'heard' }));
    expect(await mesh.clock.run(10_000, () => toolsKnown(other) === 2)).toBeLessThan(500);
  });
});

test.each([
  ['sync', syncRequestCodec.encode({ vector: [] })],
  ['statements', statementRequestCodec.encode({ known: [] })],
] as const)('a neighbour that asks for %s too often is refused until a moment later', async (kind, body) => {
  await using mesh = new SimulatedMesh();
  const [one, other] = await pair(mesh);
  await mesh.clock.run(60_000);
  const { signal } = new AbortController();
  const ask = () =>
    one.links
      .to(other.id)
      ?.request(kind, body, { signal })
      .then(
        () => 'answered',
        ({ code }: AtmoError) => code,
      );
  const many = Promise.all(Array.from({ length: 60 }, ask));
  await mesh.clock.run(100);
  expect(
    Object.fromEntries(
      Map.groupBy(await many, String)
        .entries()
        .map(([what, { length }]) => [what, length]),
    ),
  ).toEqual({
    answered: 40,
    RATE_LIMITED: 20,
  });
  await mesh.clock.run(1_000);
  const later = ask();
  await mesh.clock.run(100);
  expect(await later).toBe('answered');
});
