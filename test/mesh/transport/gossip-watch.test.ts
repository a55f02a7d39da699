import { expect, test } from 'vitest';
import { SilentGossipWatch } from '../../../src/mesh/transport/dead-connections.ts';
import { ManualClock } from '../../manual-clock.ts';

test('a connection over which no gossip flows at two looks is ended, one that is only young is not', () => {
  const clock = new ManualClock();
  const [sound, broken, young] = [{ hears: true }, { hears: false }, { hears: false }];
  const open = new Set([sound, broken]);
  const watch = new SilentGossipWatch(clock, {
    connections: () => [...open],
    receivesGossip: (connection) => connection.hears,
    drop: (connection) => open.delete(connection),
  });
  watch.start();
  clock.advance(15_000);
  open.add(young);
  clock.advance(15_000);
  expect([...open]).toEqual([sound, young]);
  young.hears = true;
  clock.advance(15_000);
  expect([...open]).toEqual([sound, young]);
  watch[Symbol.dispose]();
  sound.hears = false;
  clock.advance(60_000);
  expect(open.has(sound)).toBe(true);
});
