import { expect, test } from 'vitest';
import { ATTENTION_MS, type AttendedDevices, DeviceAttention } from '../../../src/core/devices/device-attention.ts';
import type { DeviceId } from '../../../src/core/ids.ts';
import { ManualClock } from '../../manual-clock.ts';

const LAMP = 'lamp' as DeviceId;
const LOCK = 'lock' as DeviceId;

function setUp() {
  const clock = new ManualClock();
  const attention = new DeviceAttention(clock);
  const reads: AttendedDevices[] = [];
  const stop = attention.onAttention((devices) => reads.push(devices));
  return { clock, attention, reads, stop };
}

test('a device that somebody reads has attention for a minute', () => {
  const { clock, attention, reads } = setUp();
  expect(attention.isAttended(LAMP)).toBe(false);
  attention.noteRead(LAMP);
  expect([attention.isAttended(LAMP), attention.isAttended(LOCK)]).toEqual([true, false]);
  clock.advance(ATTENTION_MS - 1);
  expect(attention.isAttended(LAMP)).toBe(true);
  clock.advance(1);
  expect(attention.isAttended(LAMP)).toBe(false);
  expect(reads).toEqual([LAMP]);
});

test('who reads all devices reads each', () => {
  const { attention, reads } = setUp();
  attention.noteRead('all');
  expect([attention.isAttended(LAMP), attention.isAttended(LOCK)]).toEqual([true, true]);
  expect(reads).toEqual(['all']);
});

test('a called device has attention, without a call of the listeners', () => {
  const { attention, reads } = setUp();
  attention.noteCall(LAMP);
  expect(attention.isAttended(LAMP)).toBe(true);
  expect(reads).toEqual([]);
});

test('a device that is used has attention for as long as it is used', () => {
  const { clock, attention } = setUp();
  const used = new Set([LOCK]);
  attention.addUser((device) => used.has(device));
  clock.advance(10 * ATTENTION_MS);
  expect([attention.isAttended(LAMP), attention.isAttended(LOCK)]).toEqual([false, true]);
  used.clear();
  expect(attention.isAttended(LOCK)).toBe(false);
});

test('a listener that was stopped is not called', () => {
  const { attention, reads, stop } = setUp();
  stop();
  attention.noteRead(LAMP);
  expect(reads).toEqual([]);
});
