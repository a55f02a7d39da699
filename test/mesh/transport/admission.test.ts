import { describe, expect, test } from 'vitest';
import type { HubId } from '../../../src/core/ids.ts';
import { admit, type ConnectionSlots, RefusalCounter } from '../../../src/mesh/transport/admission.ts';
import type { ConnectionGate } from '../../../src/mesh/transport/mesh-engine.ts';
import { ManualClock } from '../../manual-clock.ts';

const SELF = 'hub-a' as HubId;
const PEER = 'hub-b' as HubId;
const REFUSED = 3;

/** An request that passes every gate but says nothing after it. */
async function admitTo(slots: Partial<ConnectionSlots>, gate: ConnectionGate) {
  const refusals = new RefusalCounter();
  const written: number[] = [];
  const policy = { self: SELF, slots: { isFullFor: () => false, claim: () => true, takeOver: () => {}, release: () => {}, ...slots } };
  const transport = {
    write: async ([first]: Uint8Array) => void written.push(first ?? -1),
    read: () => new Promise<Uint8Array>(() => undefined),
  };
  const request = { transport, gate, peer: { id: PEER, publicKey: '', address: 'b.lan:8082', direction: 'inbound' as const } };
  const admission = admit({ ...policy, refusals, clock: new ManualClock() }, { ...request, signal: new AbortController().signal });
  const error = await admission.then(() => undefined).catch((thrown: unknown) => thrown);
  return { error, refusals: refusals.counts(), written };
}

describe('a seat for a hub', () => {
  test('that was taken while the hub stood at the gate is not given a second time', async () => {
    let isFull = false;
    const gate: ConnectionGate = {
      admit: async () => {
        isFull = true;
      },
    };
    const { error, refusals, written } = await admitTo({ isFullFor: () => isFull }, gate);
    expect(error).toMatchObject({ code: 'RESOURCE_EXCEEDED' });
    expect(refusals).toEqual({ too_many_connections: 1 });
    expect(written).toEqual([REFUSED]);
  });

  test('that was gone before is not asked of the gate at all', async () => {
    let hasAsked = false;
    const gate: ConnectionGate = {
      admit: async () => {
        hasAsked = true;
      },
    };
    const { error } = await admitTo({ isFullFor: () => true }, gate);
    expect([error, hasAsked]).toMatchObject([{ code: 'RESOURCE_EXCEEDED' }, false]);
  });
});
