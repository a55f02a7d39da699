import koffi from 'koffi';
import { expect, test } from 'vitest';
import {
  GPIO_IOCTL,
  inputRequest,
  isLineActive,
  LINE_EVENT_BYTES,
  lineInfoOf,
  lineValues,
  outputRequest,
  readEdges,
  readLineInfo,
  readRequestFd,
} from '../../../src/sensors/gpio/gpio-uapi.ts';

// The structures of <linux/gpio.h> in the words of a C compiler, which lays them out by itself.
const attribute = koffi.struct({ id: 'uint32', padding: 'uint32', value: 'uint64' });
const configAttribute = koffi.struct({ attr: attribute, mask: 'uint64' });
const config = koffi.struct({
  flags: 'uint64',
  num_attrs: 'uint32',
  padding: koffi.array('uint32', 5),
  attrs: koffi.array(configAttribute, 10),
});
const request = koffi.struct({
  offsets: koffi.array('uint32', 64),
  consumer: koffi.array('char', 32),
  config,
  num_lines: 'uint32',
  event_buffer_size: 'uint32',
  padding: koffi.array('uint32', 5),
  fd: 'int32',
});
const info = koffi.struct({
  name: koffi.array('char', 32),
  consumer: koffi.array('char', 32),
  offset: 'uint32',
  num_attrs: 'uint32',
  flags: 'uint64',
  attrs: koffi.array(attribute, 10),
  padding: koffi.array('uint32', 4),
});
const event = koffi.struct({
  timestamp_ns: 'uint64',
  id: 'uint32',
  offset: 'uint32',
  seqno: 'uint32',
  line_seqno: 'uint32',
  padding: koffi.array('uint32', 6),
});

const input = { offset: 17, isActiveLow: true, bias: 'pull-up', edge: 'both', debounceMs: 25 } as const;

test('numbers of requests are those that a C compiler makes of the header', () => {
  expect(GPIO_IOCTL).toEqual({
    chipInfo: 0x8044b401,
    lineInfo: 0xc100b405,
    requestLine: 0xc250b407,
    getValues: 0xc010b40e,
    setValues: 0xc010b40f,
  });
});

test('a request for an input reads as one in C', () => {
  const bytes = inputRequest(input, 'atmosphere-edge');
  expect(bytes).toHaveLength(koffi.sizeof(request));
  const read = koffi.decode(bytes, request);
  expect(read).toMatchObject({ consumer: 'atmosphere-edge', num_lines: 1, event_buffer_size: 0 });
  expect(read.offsets[0]).toBe(17);
  // ACTIVE_LOW, INPUT, EDGE_RISING, EDGE_FALLING, BIAS_PULL_UP
  expect(BigInt(read.config.flags)).toBe(0b1_0011_0110n);
  expect(read.config.num_attrs).toBe(1);
  expect(read.config.attrs[0]).toEqual({ attr: { id: 3, padding: 0, value: 25_000 }, mask: 1 });
});

test('an input without debouncing has no attribute', () => {
  expect(koffi.decode(inputRequest({ ...input, debounceMs: 0 }, 'x'), request).config.num_attrs).toBe(0);
});

test('a request for an output holds its first value', () => {
  const read = koffi.decode(outputRequest({ offset: 4, isActiveLow: false, isActive: true }, 'x'), request);
  expect(BigInt(read.config.flags)).toBe(0b1000n);
  expect(read.config.attrs[0]).toEqual({ attr: { id: 2, padding: 0, value: 1 }, mask: 1 });
});

test('a name of a consumer that is too long is cut, and ends', () => {
  expect(koffi.decode(inputRequest(input, 'x'.repeat(40)), request).consumer).toBe('x'.repeat(31));
});

test('the descriptor is read where C writes it', () => {
  const bytes = Buffer.alloc(koffi.sizeof(request));
  koffi.encode(bytes, request, { ...koffi.decode(bytes, request), fd: 42 });
  expect(readRequestFd(bytes)).toBe(42);
});

test('the fields of a line are read at the offsets of C', () => {
  const bytes = lineInfoOf(7);
  expect(bytes).toHaveLength(koffi.sizeof(info));
  const asked = koffi.decode(bytes, info);
  expect(asked.offset).toBe(7);
  koffi.encode(bytes, info, { ...asked, name: 'GPIO7', consumer: 'spi0 CS1', flags: 0b1001 });
  expect(readLineInfo(bytes)).toEqual({ offset: 7, name: 'GPIO7', consumer: 'spi0 CS1', isUsed: true, direction: 'output' });
});

test('changes are read where C writes them', () => {
  expect(LINE_EVENT_BYTES).toBe(koffi.sizeof(event));
  const bytes = Buffer.alloc(2 * LINE_EVENT_BYTES);
  const members = { offset: 3, seqno: 9, padding: [0, 0, 0, 0, 0, 0] };
  koffi.encode(bytes, 0, event, { ...members, timestamp_ns: 5_000_000_000n, id: 1, line_seqno: 4 });
  koffi.encode(bytes, LINE_EVENT_BYTES, event, { ...members, timestamp_ns: 6_000_000_000n, id: 2, line_seqno: 5 });
  expect(readEdges(bytes)).toEqual([
    { edge: 'rising', atNs: 5_000_000_000n, sequence: 4 },
    { edge: 'falling', atNs: 6_000_000_000n, sequence: 5 },
  ]);
});

test('values are of the one line that a request has', () => {
  expect(isLineActive(lineValues(true))).toBe(true);
  expect(isLineActive(lineValues(false))).toBe(false);
  expect(lineValues().readBigUInt64LE(8)).toBe(1n);
});
