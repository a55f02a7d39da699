import { describe, expect, test } from 'vitest';
import { CommissioningStore } from '../../../src/matter/commissioning/commissioning-recovery.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryStore } from '../memory-store.ts';

function journalOn(store = new MemoryStore()): CommissioningStore {
  return new CommissioningStore({ store, clock: new ManualClock() });
}

describe('the commissioning journal', () => {
  test('keeps what it was told over a restart', () => {
    const store = new MemoryStore();
    const { id } = journalOn(store).open('77', { name: 'Lamp', area: 'Hall', shortDiscriminator: 15 });
    journalOn(store).reach(id, 'credentials');
    expect(journalOn(store).list()).toEqual([
      { id, nodeId: '77', startedAtMs: Date.UTC(2026, 0, 1), stage: 'credentials', name: 'Lamp', area: 'Hall', shortDiscriminator: 15 },
    ]);
  });

  test('is empty once the device is known', () => {
    const journal = journalOn();
    const { id } = journal.open('77', {});
    journal.finish(id);
    expect(journal.list()).toEqual([]);
    expect(() => journal.get(id)).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }));
  });

  test('names a device as half commissioned only when adoption has failed', () => {
    const journal = journalOn();
    const { id } = journal.open('77', { name: 'Lamp' });
    journal.reach(id, 'completing');
    expect(journal.halfCommissioned()).toEqual([]);
    journal.fail(id, 'not reachable');
    expect(journal.halfCommissioned()).toEqual([
      { id, startedAtMs: Date.UTC(2026, 0, 1), step: 'completing', advice: expect.stringMatching(/"Lamp".*reset it to factory settings/) },
    ]);
  });

  test('advises to wait where the device forgets by itself', () => {
    const journal = journalOn();
    const { id } = journal.open('77', {});
    journal.reach(id, 'credentials');
    journal.fail(id, 'not reachable');
    expect(journal.halfCommissioned()[0]?.advice).toMatch(/The device of 2026-01-01.*forgets this home by itself within 15 minutes/);
  });

  test('a device that came in at last takes its earlier tries with it, and no other entry', () => {
    const journal = journalOn();
    const earlier = journal.open('1', { shortDiscriminator: 3 });
    const kept = journal.open('2', { shortDiscriminator: 3 });
    const other = journal.open('3', { shortDiscriminator: 4 });
    for (const [entry, stage] of [
      [earlier, 'credentials'],
      [kept, 'completing'],
      [other, 'credentials'],
    ] as const) {
      journal.reach(entry.id, stage);
      journal.fail(entry.id, 'not reachable');
    }
    journal.finish(journal.open('4', { shortDiscriminator: 3 }).id);
    expect(journal.list().map(({ nodeId }) => nodeId)).toEqual(['2', '3']);
  });

  test('passes over what it cannot read', () => {
    const store = new MemoryStore();
    store.set('commissioning', 'x', { stage: 'unheard of' });
    expect(journalOn(store).list()).toEqual([]);
  });
});
