import { describe, expect, test } from 'vitest';
import { EMPTY_HOME, pendingApprovals, readingsOf, refreshAfter, withDevices, withEvent } from '../../../src/web/api/home-store.ts';
import { approvalView, deviceView, eventView, readingView } from '../home-fixture.ts';

const lamp = deviceView('hall-lamp', { readings: [readingView('hall-lamp', 'is_on', { value: false })] });
const home = withDevices(EMPTY_HOME, [lamp, deviceView('attic-lamp')]);

describe('the state of the home', () => {
  test('has the devices in the order of their names', () => {
    expect(home.devices.map(({ id }) => id)).toEqual(['attic-lamp', 'hall-lamp']);
  });

  test('follows readings of devices, with their time', () => {
    const after = withEvent(home, eventView('sensor.reading', 'hall-lamp/is_on', { value: true, at_ms: Date.UTC(2026, 4, 2) }));
    expect(readingsOf(after, 'hall-lamp').get('is_on')).toMatchObject({ value: true, at: '2026-05-02T00:00:00.000Z' });
    expect(after.devices.find(({ id }) => id === 'hall-lamp')?.last_seen).toBe('2026-05-02T00:00:00.000Z');
    expect(readingsOf(home, 'hall-lamp').get('is_on')?.value).toBe(false);
  });

  test('follows the reachability of devices', () => {
    const after = withEvent(home, eventView('device.reachability', 'hall-lamp', { reachability: 'unreachable' }));
    expect(after.devices.find(({ id }) => id === 'hall-lamp')?.reachability).toBe('unreachable');
    expect(withEvent(home, eventView('device.reachability', 'hall-lamp', { reachability: 'odd' })).devices).toEqual(home.devices);
  });

  test('is loaded again after an event that does not hold the change', () => {
    expect(refreshAfter(eventView('device.added', 'x'), home)).toBe('devices');
    expect(refreshAfter(eventView('approval.requested', 'x'), home)).toBe('approvals');
    expect(refreshAfter(eventView('sensor.reading', 'new/value'), home)).toBe('devices');
    expect(refreshAfter(eventView('sensor.reading', 'hall-lamp/is_on'), home)).toBeUndefined();
  });

  test('holds the last five hundred events, the newest in front', () => {
    let state = home;
    for (let index = 0; index < 600; index++) state = withEvent(state, eventView('agi.tool.result', String(index)));
    expect(state.events).toHaveLength(500);
    expect(state.events[0]?.subject).toBe('599');
  });

  test('has pending requests, the one that expires first in front, without expired ones', () => {
    const nowMs = Date.parse('2026-05-01T12:05:00.000Z');
    const late = approvalView({ approval_id: 'late' });
    const soon = approvalView({ approval_id: 'soon', expires_at: '2026-05-01T12:06:00.000Z' });
    const over = approvalView({ approval_id: 'over', expires_at: '2026-05-01T12:04:00.000Z' });
    const used = approvalView({ approval_id: 'used', state: 'used' });
    expect(pendingApprovals([late, soon, over, used], nowMs).map(({ approval_id: id }) => id)).toEqual(['soon', 'late']);
  });
});
