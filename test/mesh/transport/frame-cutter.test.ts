import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FrameDecoder, frameWithHeader } from '../../../src/mesh/transport/libp2p-connection.ts';

const MAX_BYTES = 300;
const frames = fc.array(fc.uint8Array({ maxLength: MAX_BYTES }), { maxLength: 12 });
const cuts = fc.array(fc.integer({ min: 1, max: 97 }), { minLength: 1, maxLength: 20 });

test('frames come out as they went in, however the bytes are cut on the way', () => {
  const survive = fc.property(frames, cuts, (sent, sizes) => {
    const wire = Buffer.concat(sent.map(frameWithHeader));
    const received: Uint8Array[] = [];
    const cutter = new FrameDecoder(MAX_BYTES, (frame) => received.push(frame));
    for (let start = 0, turn = 0; start < wire.length; turn += 1) {
      const size = sizes[turn % sizes.length] ?? 1;
      expect(cutter.push(wire.subarray(start, start + size))).toBe(true);
      start += size;
    }
    expect(received.map((frame) => [...frame])).toEqual(sent.map((frame) => [...frame]));
  });
  fc.assert(survive, { numRuns: 200 });
});

test('a frame that says it is longer than allowed is refused before its bytes come', () => {
  const received: Uint8Array[] = [];
  const cutter = new FrameDecoder(MAX_BYTES, (frame) => received.push(frame));
  const tooLong = frameWithHeader(new Uint8Array(MAX_BYTES + 1)).subarray(0, 4);
  expect(cutter.push(Buffer.concat([frameWithHeader(Uint8Array.of(1)), tooLong]))).toBe(false);
  expect(received).toEqual([Uint8Array.of(1)]);
});
