import { expect, test } from 'vitest';
import { pictureSize } from '../../src/connectors/media-type.ts';

const segment = (code: number, ...body: readonly number[]) => [0xff, code, 0, body.length + 2, ...body];
const frame = [8, 0x02, 0xd0, 0x05, 0x00, 3, 0, 0, 0];

test('a JPEG has its size in its frame header, wherever that is', () => {
  const size = { type: 'image/jpeg', width: 1_280, height: 720 };
  expect(pictureSize(Uint8Array.from([0xff, 0xd8, ...segment(0xe0, 1, 2, 3), ...segment(0xc4, 9), ...segment(0xc0, ...frame)]))).toEqual(
    size,
  );
  expect(pictureSize(Uint8Array.from([0xff, 0xd8, ...segment(0xc2, ...frame)]))).toEqual(size);
});

test('a PNG has it at its beginning', () => {
  const png = Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    Buffer.from([0, 0, 0, 13]),
    Buffer.from('IHDR'),
    Buffer.from([0, 0, 2, 128, 0, 0, 1, 224]),
  ]);
  expect(pictureSize(png)).toEqual({ type: 'image/png', width: 640, height: 480 });
  expect(pictureSize(png.subarray(0, 20))).toBeUndefined();
});

test('a truncated, damaged or other file has no size', () => {
  expect(pictureSize(Uint8Array.from([0xff, 0xd8, 0xff]))).toBeUndefined();
  expect(pictureSize(Uint8Array.from([0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]))).toBeUndefined();
  expect(pictureSize(Buffer.from('<html>'))).toBeUndefined();
});
