import { expect, test } from 'vitest';
import { AtmoError, ERROR_CODES, toAtmoError } from '../../src/core/errors.ts';
import { EventBus } from '../../src/core/events.ts';
import { type Service, ServiceStack } from '../../src/core/lifecycle.ts';
import { ManualClock } from '../manual-clock.ts';

const recorded = (log: string[], name: string, fails?: 'start' | 'stop'): Service => ({
  async start() {
    if (fails === 'start') throw new AtmoError('STORAGE_FAILED', `${name} cannot start`);
    log.push(`+${name}`);
  },
  async [Symbol.asyncDispose]() {
    log.push(`-${name}`);
    if (fails === 'stop') throw new AtmoError('INTERNAL_ERROR', `${name} cannot stop`);
  },
});

test('services stop in reverse order, also when one cannot start', async () => {
  const log: string[] = [];
  const stack = new ServiceStack();
  await stack.start(recorded(log, 'a'));
  await stack.start(recorded(log, 'b'));
  await expect(stack.start(recorded(log, 'c', 'start'))).rejects.toThrow('c cannot start');
  expect(log).toEqual(['+a', '+b', '-c', '-b', '-a']);
});

test('what needs no start is disposed in its turn', async () => {
  const log: string[] = [];
  const stack = new ServiceStack();
  await stack.start(recorded(log, 'a'));
  stack.own(recorded(log, 'b'));
  await stack.start(recorded(log, 'c'));
  await stack[Symbol.asyncDispose]();
  expect(log).toEqual(['+a', '+c', '-c', '-b', '-a']);
});

test('a service that fails to stop does not keep the others from stopping', async () => {
  const log: string[] = [];
  const stack = new ServiceStack();
  await stack.start(recorded(log, 'a'));
  await stack.start(recorded(log, 'b', 'stop'));
  await expect(stack[Symbol.asyncDispose]()).rejects.toThrow('b cannot stop');
  expect(log.at(-1)).toBe('-a');
  await stack[Symbol.asyncDispose]();
});

test('one failing listener does not keep an event from the others', () => {
  const seen: string[] = [];
  const bus = new EventBus('hub-1', new ManualClock());
  bus.listen(() => {
    throw new AtmoError('INTERNAL_ERROR', 'listener bug');
  });
  const stop = bus.listen((event) => seen.push(`${event.type} ${event.subject}`));
  bus.emit('device.added', 'lamp');
  stop();
  bus.emit('device.removed', 'lamp');
  expect(seen).toEqual(['device.added lamp']);
});

test('a listener of some types gets no events of other types', () => {
  const seen: string[] = [];
  const bus = new EventBus('hub-1', new ManualClock());
  bus.listen(({ type }) => seen.push(type), ['device.added', 'device.removed']);
  for (const type of ['device.added', 'device.changed', 'device.removed'] as const) bus.emit(type, 'lamp');
  expect(seen).toEqual(['device.added', 'device.removed']);
});

test('a bug crosses a door as INTERNAL_ERROR without its text', () => {
  const body = toAtmoError(new TypeError('secret internals')).toBody();
  expect(body.code).toBe('INTERNAL_ERROR');
  expect(JSON.stringify(body)).not.toContain('secret');
});

test('only errors whose advice is to try later are retryable', () => {
  expect(new AtmoError('DEVICE_UNREACHABLE', 'x').toBody().retryable).toBe(true);
  expect(new AtmoError('OUTCOME_UNKNOWN', 'x').toBody().retryable).toBe(false);
  expect(Object.values(ERROR_CODES).every((kind) => kind.httpStatus >= 200 && kind.meaning.length > 20)).toBe(true);
});

test('a manual clock runs what falls due in order', () => {
  const clock = new ManualClock(0);
  const log: string[] = [];
  clock.after(20, () => log.push('b'));
  clock.after(10, () => clock.after(5, () => log.push('a')));
  clock.after(30, () => log.push('never'))();
  clock.advance(100);
  expect(log).toEqual(['a', 'b']);
});
