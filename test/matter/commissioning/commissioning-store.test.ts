import { describe, expect, test } from 'vitest';
import { CommissioningStore } from '../../../src/matter/commissioning/commissioning-recovery.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryStore } from '../memory-store.ts';

function storeOn(store = new MemoryStore()): CommissioningStore {
  return new CommissioningStore({ store, clock: new ManualClock() });
}

describe('the commissioning store', () => {
  test('survives a restart', () => {
    const store = new MemoryStore();
    const { id } = storeOn(store).open('77', { name: 'Lamp', area: 'Hall', shortDiscriminator: 15 });
    storeOn(store).reach(id, 'credentials');
    expect(storeOn(store).list()).toEqual([
      { id, nodeId: '77', startedAtMs: Date.UTC(2026, 0, 1), stage: 'credentials', name: 'Lamp', area: 'Hall', shortDiscriminator: 15 },
    ]);
  });

  test('is empty once the device is recorded', () => {
    const commissionings = storeOn();
    const { id } = commissionings.open('77', {});
    commissionings.finish(id);
    expect(commissionings.list()).toEqual([]);
    expect(() => commissionings.get(id)).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }));
  });

  test('lists a device as half commissioned only after the recovery has failed', () => {
    const commissionings = storeOn();
    const { id } = commissionings.open('77', { name: 'Lamp' });
    commissionings.reach(id, 'completing');
    expect(commissionings.halfCommissioned()).toEqual([]);
    commissionings.fail(id, 'not reachable');
    expect(commissionings.halfCommissioned()).toEqual([
      { id, startedAtMs: Date.UTC(2026, 0, 1), step: 'completing', advice: expect.stringMatching(/"Lamp".*reset it to factory settings/) },
    ]);
  });

  test('advises to wait where the fail-safe of the device expires', () => {
    const commissionings = storeOn();
    const { id } = commissionings.open('77', {});
    commissionings.reach(id, 'credentials');
    commissionings.fail(id, 'not reachable');
    expect(commissionings.halfCommissioned()[0]?.advice).toMatch(/The device of 2026-01-01.*forgets this home by itself within 15 minutes/);
  });

  test('loses the earlier attempts of a recorded device, and no other entry', () => {
    const commissionings = storeOn();
    const earlier = commissionings.open('1', { shortDiscriminator: 3 });
    const kept = commissionings.open('2', { shortDiscriminator: 3 });
    const other = commissionings.open('3', { shortDiscriminator: 4 });
    for (const [entry, stage] of [
      [earlier, 'credentials'],
      [kept, 'completing'],
      [other, 'credentials'],
    ] as const) {
      commissionings.reach(entry.id, stage);
      commissionings.fail(entry.id, 'not reachable');
    }
    commissionings.finish(commissionings.open('4', { shortDiscriminator: 3 }).id);
    expect(commissionings.list().map(({ nodeId }) => nodeId)).toEqual(['2', '3']);
  });

  test('skips invalid entries', () => {
    const store = new MemoryStore();
    store.set('commissioning', 'x', { stage: 'unheard of' });
    expect(storeOn(store).list()).toEqual([]);
  });
});
