import { expect, test } from 'vitest';
import { ManualClock } from '../../manual-clock.ts';
import { SeenMessages } from '../memory-engine.ts';
import { bytes } from './engine-fixtures.ts';

test('a message is new once within two minutes, whatever array holds its bytes', () => {
  const clock = new ManualClock();
  const seen = new SeenMessages(clock);
  expect([seen.add(bytes('a')), seen.add(bytes('a')), seen.add(bytes('b'))]).toEqual([true, false, true]);
  clock.advance(119_000);
  expect(seen.add(bytes('a'))).toBe(false);
  clock.advance(121_000);
  seen.add(bytes('c'));
  clock.advance(121_000);
  seen.add(bytes('d'));
  expect(seen.add(bytes('a'))).toBe(true);
});

test('a flood of messages does not grow it without bound', () => {
  const seen = new SeenMessages(new ManualClock());
  for (let index = 0; index < 40_000; index += 1) seen.add(bytes(`${index}`));
  expect(seen.add(bytes('0'))).toBe(true);
  expect(seen.add(bytes('39999'))).toBe(false);
});
