import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  announcedRecords,
  decodeDnsMessage,
  encodeDnsMessage,
  isPlainName,
  serviceRecords,
} from '../../../src/mesh/discovery/dns-message.ts';

const HUB = { name: 'hub-00112233aabbccdd', type: '_atmosphere-edge._tcp', port: 8082, txt: { v: '1' }, host: 'hub-00112233aabbccdd' };
const records = serviceRecords(HUB, ['10.0.0.1', 'fe80::1']);
const announcement = encodeDnsMessage({ kind: 'response', answers: announcedRecords(records), additionals: records.absences });

describe('a message of multicast DNS', () => {
  test('is read as it was written', () => {
    const message = decodeDnsMessage(announcement);
    expect(message).toMatchObject({ kind: 'response', id: 0, isTruncated: false, questions: [], authorities: [] });
    expect(message?.answers).toEqual(announcedRecords(records));
    expect(message?.additionals.map(({ data }) => [...(data as string[])].sort())).toEqual([
      ['SRV', 'TXT'],
      ['A', 'AAAA'],
    ]);
  });

  test('tells that the asker wants the answer for itself', () => {
    const bytes = encodeDnsMessage({
      kind: 'query',
      questions: [{ name: '_atmosphere-edge._tcp.local', type: 'PTR', wantsUnicast: false }],
    });
    expect(decodeDnsMessage(bytes)?.questions).toEqual([{ name: '_atmosphere-edge._tcp.local', type: 'PTR', wantsUnicast: false }]);
    bytes.writeUInt16BE(0x8001, bytes.length - 2);
    expect(decodeDnsMessage(bytes)?.questions[0]?.wantsUnicast).toBe(true);
    bytes.writeUInt16BE(3, bytes.length - 2);
    expect(decodeDnsMessage(bytes)?.questions).toEqual([]);
  });

  test('that counts more than it can hold is refused before room is made for it', () => {
    const header = Buffer.alloc(12, 0xff);
    expect(decodeDnsMessage(header)).toBeUndefined();
    const claim = Buffer.from(announcement);
    claim.writeUInt16BE(900, 6);
    expect(decodeDnsMessage(claim)).toBeUndefined();
    expect(decodeDnsMessage(Buffer.concat([announcement, Buffer.alloc(9_000)]))).toBeUndefined();
    expect(decodeDnsMessage(Buffer.alloc(0))).toBeUndefined();
  });

  test('with a name that points at itself, forward, or round in a circle is refused', () => {
    const query = (name: readonly number[]) =>
      decodeDnsMessage(Buffer.from([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...name, 0, 12, 0, 1, 0, 0, 0, 0]));
    expect(query([1, 97, 0])?.questions[0]?.name).toBe('a');
    expect(query([0xc0, 12])).toBeUndefined();
    expect(query([0xc0, 14])).toBeUndefined();
    expect(query([1, 97, 0xc0, 12])).toBeUndefined();
  });

  test('of any bytes is read or refused, and nothing is thrown', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 0, maxLength: 300 }), (bytes) => {
        decodeDnsMessage(Buffer.from(bytes));
      }),
      { numRuns: 2_000 },
    );
  });

  test('that was damaged anywhere is read or refused, and nothing is thrown', () => {
    const damage = fc.array(fc.tuple(fc.nat(announcement.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(damage, fc.nat(announcement.length), (bytes, end) => {
        const copy = Buffer.from(announcement);
        for (const [at, value] of bytes) copy[at] = value;
        const pointers = decodeDnsMessage(copy.subarray(0, end))?.answers.filter(({ type }) => type === 'PTR') ?? [];
        const plain = pointers.filter((record) => isPlainName(record.name) && isPlainName(String(record.data)));
        // What is told on as known is read by others as it was read here.
        expect(decodeDnsMessage(encodeDnsMessage({ kind: 'query', answers: plain }))?.answers).toEqual(plain);
      }),
      { numRuns: 2_000 },
    );
  });
});
