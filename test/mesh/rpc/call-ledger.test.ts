import { describe, expect, test } from 'vitest';
import type { HubId } from '../../../src/core/ids.ts';
import { CallLedger } from '../../../src/mesh/rpc/call-server.ts';
import { ManualClock } from '../../manual-clock.ts';

const hub = 'hub-1' as HubId;
const entry = (clock: ManualClock, id: string, entryHub = hub) => ({ entryHub, id, fingerprint: id, untilMs: clock.monotonic() + 30_000 });
const answer = (length: number) => ({ bytes: new Uint8Array(length) });

describe('the ledger of requests', () => {
  test('deletes an entry when it expires, and not before', () => {
    const clock = new ManualClock();
    const ledger = new CallLedger(clock);
    ledger.open(entry(clock, 'a')).settle(answer(1));
    clock.advance(89_000);
    ledger.spend(entry(clock, 'b'));
    expect(ledger.find(hub, 'a')?.kept?.bytes).toHaveLength(1);
    clock.advance(12_000);
    ledger.spend(entry(clock, 'c'));
    expect([ledger.find(hub, 'a'), ledger.find(hub, 'b')?.state]).toEqual([undefined, 'spent']);
  });

  test('never deletes a running call', () => {
    const clock = new ManualClock();
    const ledger = new CallLedger(clock);
    ledger.open(entry(clock, 'a'));
    clock.advance(3_600_000);
    ledger.spend(entry(clock, 'b'));
    expect(ledger.find(hub, 'a')?.state).toBe('running');
  });

  test('has a limit for each hub, so that one hub cannot fill it for all', () => {
    const clock = new ManualClock();
    const ledger = new CallLedger(clock);
    for (let count = 0; count < 16_384; count++) ledger.spend(entry(clock, `${count}`));
    expect(() => ledger.spend(entry(clock, 'more'))).toThrow(expect.objectContaining({ code: 'RESOURCE_EXCEEDED' }));
    expect(() => ledger.spend(entry(clock, 'more', 'hub-2' as HubId))).not.toThrow();
    clock.advance(101_000);
    expect(() => ledger.spend(entry(clock, 'more'))).not.toThrow();
    expect(ledger.find(hub, '0')).toBeUndefined();
    // Every expired entry has left its place.
    for (let count = 1; count < 16_384; count++) ledger.spend(entry(clock, `${count}`));
    expect(() => ledger.spend(entry(clock, 'one too many'))).toThrow(expect.objectContaining({ code: 'RESOURCE_EXCEEDED' }));
    expect(ledger.find('hub-2' as HubId, 'more')).toBeUndefined();
  });

  test('stores the newest answers when they are too long to store all, and of the others that they ended', () => {
    const clock = new ManualClock();
    const ledger = new CallLedger(clock);
    const records = ['a', 'b', 'c', 'd', 'e'].map((id) => ledger.open(entry(clock, id)));
    for (const record of records) record.settle(answer(4_000_000));
    expect(['a', 'b', 'e'].map((id) => [ledger.find(hub, id)?.state, ledger.find(hub, id)?.kept?.bytes.length])).toEqual([
      ['finished', undefined],
      ['finished', 4_000_000],
      ['finished', 4_000_000],
    ]);
    // No promise of a record holds an answer that was deleted.
    expect(records.map(({ running }) => running)).toEqual(Array(5).fill(undefined));
  });
});
