import { expect, test } from 'vitest';
import { SimulatedAuthority } from '../../../scripts/simulation/simulated-authority.ts';
import { makeDirectory, namedTools, Origin } from './gossip-fixture.ts';

test('a hub that never announces its whole state again is followed for a bounded number of changes, and again after its next full announcement', () => {
  const authority = new SimulatedAuthority();
  const { directory, neighbour, drops, toolsOf } = makeDirectory(authority, { maxChanges: 2 });
  const origin = new Origin(authority);
  const envelopes = [origin.full(), ...['a', 'b', 'c'].map((name) => origin.delta({ tools: namedTools(name) }))];
  expect(envelopes.map((envelope) => directory.receive(envelope, neighbour))).toEqual(['accept', 'accept', 'accept', 'ignore']);
  expect([toolsOf(origin.id), drops.counts().too_many_changes]).toEqual([['b'], 1]);
  expect(directory.receive(origin.full(), neighbour)).toBe('accept');
  expect(toolsOf(origin.id)).toEqual(['c']);
});
