import { expect, test } from 'vitest';
import { EVENT_TYPES } from '../../../src/core/events.ts';
import { EVENT_KINDS } from '../../../src/web/pages/event-log.ts';

test('every event of the hub is of one kind that can be chosen, and every kind has events', () => {
  const kinds = [...EVENT_KINDS.keys()];
  for (const type of EVENT_TYPES)
    expect(
      kinds.filter((kind) => type.startsWith(kind)),
      type,
    ).toHaveLength(1);
  for (const kind of kinds)
    expect(
      EVENT_TYPES.some((type) => type.startsWith(kind)),
      kind,
    ).toBe(true);
});
