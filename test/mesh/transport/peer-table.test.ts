import { describe, expect, test } from 'vitest';
import type { HubId } from '../../../src/core/ids.ts';
import { PeerTable, type TableConnection } from '../../../src/mesh/transport/peer-table.ts';
import { ManualClock } from '../../manual-clock.ts';

const PEER = 'hub-00000000000000aa' as HubId;

describe('a hub that dials again', () => {
  function connected(hasArrived: boolean | undefined) {
    const clock = new ManualClock();
    const lab = { clock, table: new PeerTable<TableConnection>(clock, 4), drops: 0 };
    const peer = { id: PEER, publicKey: '', direction: 'inbound', address: '10.0.0.1:7481' } as const;
    const drop = () => {
      lab.drops += 1;
    };
    lab.table.claim(PEER);
    lab.table.opened({ peer, hasArrived: () => hasArrived, drop });
    return lab;
  }

  test.each([true, undefined])('is the other half of a pair for ten seconds (what was sent has arrived: %s)', (hasArrived) => {
    const { clock, table } = connected(hasArrived);
    clock.advance(9_999);
    expect(table.claim(PEER)).toBe(false);
    clock.advance(1);
    expect(table.claim(PEER)).toBe(true);
  });

  test('has lost a connection over which nothing gets through', () => {
    const lab = connected(false);
    lab.clock.advance(1_000);
    expect(lab.table.claim(PEER)).toBe(true);
    expect(lab.drops).toBe(1);
  });

  test('has not lost a connection whose first bytes are still on their way', () => {
    const lab = connected(false);
    lab.clock.advance(999);
    expect(lab.table.claim(PEER)).toBe(false);
    expect([lab.drops, lab.table.get(PEER)?.peer.id]).toEqual([0, PEER]);
  });
});
