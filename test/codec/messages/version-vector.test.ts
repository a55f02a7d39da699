import { describe, expect, test } from 'vitest';
import { syncRequestCodec } from '../../../src/codec/messages/sync.ts';
import type { HubId } from '../../../src/core/ids.ts';

const vectorOf = (hubs: number) =>
  Array.from({ length: hubs }, (_, index) => ({
    hubId: `hub-${index.toString(16).padStart(16, '0')}` as HubId,
    epoch: 1_767_225_600 + index,
    sequence: Number.MAX_SAFE_INTEGER - index,
  }));

describe('a version vector', () => {
  test('encodes 1,024 hubs with the greatest numbers', () => {
    const vector = vectorOf(1_024);
    const encoded = syncRequestCodec.encode({ vector });
    expect(syncRequestCodec.decode(encoded)).toEqual({ vector });
    expect(encoded.length).toBeLessThan(1_024 * 23);
  });

  test('refuses more hubs, and ids of no hub', () => {
    expect(() => syncRequestCodec.encode({ vector: vectorOf(1_025) })).toThrow('SyncRequest refused: vector has more than 1024 hubs');
    const strange = [{ hubId: 'hub-1' as HubId, epoch: 1, sequence: 1 }];
    expect(() => syncRequestCodec.encode({ vector: strange })).toThrow('SyncRequest refused: vector[0] is no id of a hub');
  });

  test.each([
    ['ids that are no multiple of 8 bytes', 'a1018347000000000000008101 8101'],
    ['an id more than epochs', 'a10183500000000000000000000000000000000081018101'],
    ['epochs that are text', 'a101834800000000000000008161 618101'],
  ])('with %s is refused', (_, hex) => {
    expect(() => syncRequestCodec.decode(Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex')))).toThrow(
      'SyncRequest refused: vector',
    );
  });
});
