import { describe, expect, test } from 'vitest';
import { StoredHomeNames } from '../../../src/tools/names/home-names.ts';
import { floorsInOrder, inHomeOrder } from '../../../src/tools/names/home-order.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';

const AREAS = ['Bath', 'Cellar', 'Hall', 'Kitchen', 'Study'];

function makeNames() {
  const store = new MemoryKeyValueStore(new ManualClock());
  const names = new StoredHomeNames(store);
  for (const [area, floor] of [
    ['Study', 'Upstairs'],
    ['Bath', 'Upstairs'],
    ['Hall', 'Ground'],
    ['Kitchen', 'Ground'],
  ] as const)
    names.describeArea(area, { aliases: [], floor });
  return { names, again: () => new StoredHomeNames(store) };
}

describe('the order of areas and floors', () => {
  test('is by name before anybody chose one', () => {
    const { names } = makeNames();
    expect(inHomeOrder(AREAS.toReversed(), names)).toEqual(AREAS);
    expect(floorsInOrder(AREAS, names)).toEqual(['Ground', 'Upstairs']);
  });

  test('is by floor, then as people chose, then by name, also after a restart', () => {
    const { names, again } = makeNames();
    names.setOrder({ areas: ['Kitchen', 'study'], floors: ['Upstairs'] });
    for (const known of [names, again()]) {
      expect(inHomeOrder(AREAS, known)).toEqual(['Study', 'Bath', 'Kitchen', 'Cellar', 'Hall']);
      expect(floorsInOrder(AREAS, known)).toEqual(['Upstairs', 'Ground']);
    }
  });

  test('stays when a room is renamed', () => {
    const { names, again } = makeNames();
    names.setOrder({ areas: ['Study', 'Hall'], floors: [] });
    names.renameArea('Study', 'Office', { isJoined: false });
    expect(inHomeOrder(['Bath', 'Hall', 'Office'], again())).toEqual(['Office', 'Hall', 'Bath']);
  });
});
