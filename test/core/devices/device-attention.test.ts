import { expect, test } from 'vitest';
import { DeviceAttention, LOOK_MS, type LookedAt } from '../../../src/core/devices/device-attention.ts';
import type { DeviceId } from '../../../src/core/ids.ts';
import { ManualClock } from '../../manual-clock.ts';

const LAMP = 'lamp' as DeviceId;
const LOCK = 'lock' as DeviceId;

function setUp() {
  const clock = new ManualClock();
  const attention = new DeviceAttention(clock);
  const looks: LookedAt[] = [];
  const stop = attention.onLook((devices) => looks.push(devices));
  return { clock, attention, looks, stop };
}

test('a device that somebody looks at has attention for a minute', () => {
  const { clock, attention, looks } = setUp();
  expect(attention.isOn(LAMP)).toBe(false);
  attention.look(LAMP);
  expect([attention.isOn(LAMP), attention.isOn(LOCK)]).toEqual([true, false]);
  clock.advance(LOOK_MS - 1);
  expect(attention.isOn(LAMP)).toBe(true);
  clock.advance(1);
  expect(attention.isOn(LAMP)).toBe(false);
  expect(looks).toEqual([LAMP]);
});

test('who looks at all devices looks at each', () => {
  const { attention, looks } = setUp();
  attention.look('all');
  expect([attention.isOn(LAMP), attention.isOn(LOCK)]).toEqual([true, true]);
  expect(looks).toEqual(['all']);
});

test('a called device has attention, without a call of the listeners', () => {
  const { attention, looks } = setUp();
  attention.noteCall(LAMP);
  expect(attention.isOn(LAMP)).toBe(true);
  expect(looks).toEqual([]);
});

test('a device that is used has attention for as long as it is used', () => {
  const { clock, attention } = setUp();
  const used = new Set([LOCK]);
  attention.addUser((device) => used.has(device));
  clock.advance(10 * LOOK_MS);
  expect([attention.isOn(LAMP), attention.isOn(LOCK)]).toEqual([false, true]);
  used.clear();
  expect(attention.isOn(LOCK)).toBe(false);
});

test('a listener that was stopped is not called', () => {
  const { attention, looks, stop } = setUp();
  stop();
  attention.look(LAMP);
  expect(looks).toEqual([]);
});
