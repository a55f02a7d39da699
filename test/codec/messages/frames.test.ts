import { expect, test } from 'vitest';
import { type CborValue, encodeCbor } from '../../../src/codec/cbor.ts';
import { type Frame, frameCodec } from '../../../src/codec/messages/connection.ts';

const IDS = [0, 1, 23, 24, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER];
const LENGTHS = [0, 1, 23, 24, 255, 256, 65_472];
const FRAMES = IDS.flatMap((id) =>
  LENGTHS.flatMap((length): readonly (readonly [Frame, CborValue])[] => {
    const body = new Uint8Array(length).fill(7);
    const requests = [0, 23, 24, 255].map((kind) => [{ type: 'request', id, kind, body }, [1, id, kind, body]] as const);
    return [[{ type: 'result', id, body }, [3, id, body]], ...requests];
  }),
);

test('requests and results of every size have the encoding that the table of frames gives', () => {
  for (const [frame, items] of FRAMES) {
    const bytes = frameCodec.encode(frame);
    expect(Buffer.compare(bytes, encodeCbor(items))).toBe(0);
    expect(frameCodec.decode(bytes)).toEqual(frame);
  }
});

test('a frame that was read keeps none of the bytes that it came in', () => {
  const bytes = Buffer.from(frameCodec.encode({ type: 'result', id: 1, body: Uint8Array.of(1, 2) }));
  const frame = frameCodec.decode(bytes);
  bytes.fill(0);
  expect(frame).toEqual({ type: 'result', id: 1, body: Uint8Array.of(1, 2) });
});

const hex = (text: string) => Uint8Array.from(Buffer.from(text, 'hex'));

test.each([
  ['an id that is longer than it has to be', '8303180340'],
  ['an id of one byte in two', '8303180040'],
  ['an id of two bytes in four', '83031a000000ff40'],
  ['a length of one byte in two', '830301580101'],
  ['a length of two bytes where one is enough', `8303015900ff${'00'.repeat(255)}`],
  ['a body that ends early', '8303014201'],
  ['bytes after its body', '830301410100'],
  ['text in the place of its body', '8303016161'],
  ['a kind that no byte holds', '84010119010040'],
  ['another number of items', '8403010140'],
])('a frame with %s is refused', (_, text) => {
  expect(() => frameCodec.decode(hex(text))).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
});

test('a frame that is too long is neither written nor read', () => {
  const body = new Uint8Array(65_473);
  expect(() => frameCodec.encode({ type: 'result', id: 1, body })).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
  expect(() => frameCodec.encode({ type: 'request', id: 1, kind: 256, body: hex('') })).toThrow(/kind/);
  expect(() => frameCodec.decode(encodeCbor([3, 1, body]))).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
});
