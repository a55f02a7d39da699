import { describe, expect, test } from 'vitest';
import { EventLog, type LoggedEvent } from '../../../src/web/pages/event-log.ts';

const event = (number: number, more: Partial<LoggedEvent> = {}): LoggedEvent => ({
  id: String(number),
  type: 'sensor.reading',
  subject: 'lamp/is_on',
  time: '2026-01-01T00:00:00.000Z',
  data: { value: number },
  ...more,
});
const EVERYTHING = { type: '', text: '' };
const idsOf = (log: EventLog, filter = EVERYTHING) => log.matching(filter).map(({ id }) => id);

describe('the log of events', () => {
  test('has the newest first and drops the oldest', () => {
    const log = new EventLog();
    for (let number = 0; number < 600; number++) log.add(event(number));
    expect(idsOf(log)).toHaveLength(500);
    expect(idsOf(log)[0]).toBe('599');
    expect(idsOf(log).at(-1)).toBe('100');
  });

  test('does not change while it is paused, and loses no event', () => {
    const log = new EventLog();
    log.add(event(1));
    log.pause();
    log.add(event(2));
    log.add(event(3));
    expect(idsOf(log)).toEqual(['1']);
    expect(log.waitingCount).toBe(2);
    log.resume();
    expect(idsOf(log)).toEqual(['3', '2', '1']);
    expect(log.waitingCount).toBe(0);
  });

  test('is filtered by type and by any word, whatever the case', () => {
    const log = new EventLog();
    log.add(event(1));
    log.add(event(2, { type: 'device.changed', subject: 'front-door', data: { name: 'Front Door' } }));
    expect(idsOf(log, { type: 'device.', text: '' })).toEqual(['2']);
    expect(idsOf(log, { type: '', text: 'front door' })).toEqual(['2']);
    expect(idsOf(log, { type: 'sensor.', text: 'front' })).toEqual([]);
  });
});
