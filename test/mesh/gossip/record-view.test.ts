import { expect, test } from 'vitest';
import { SimulatedAuthority } from '../../../scripts/simulation/simulated-authority.ts';
import { makeDirectory, Origin } from './gossip-fixture.ts';

test.each(['hub-0123456789abcdef', ' hub-0123456789abcdef', 'HUB-0123456789ABCDEF\u0000'])(
  'a hub that calls itself by the id of a hub, as %j, is called by its own',
  (name) => {
    const authority = new SimulatedAuthority();
    const setup = makeDirectory(authority);
    const origin = new Origin(authority);
    setup.directory.receive(origin.full({ name }), setup.neighbour);
    expect(setup.directory.hub(origin.id)?.name).toBe(origin.id);
  },
);

test('features are not listed among the capabilities', () => {
  const authority = new SimulatedAuthority();
  const setup = makeDirectory(authority);
  const origin = new Origin(authority);
  const capabilities = ['vision', 'wire:bytes', 'wire:later', 'camera_access'].map((type) => ({ type, description: '' }));
  setup.directory.receive(origin.full({ capabilities }), setup.neighbour);
  const hub = setup.directory.hub(origin.id);
  expect([hub?.capabilities.map(({ type }) => type), hub?.features]).toEqual([
    ['vision', 'camera_access'],
    ['wire:bytes', 'wire:later'],
  ]);
});
