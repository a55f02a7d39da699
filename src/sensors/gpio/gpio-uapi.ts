import type { GpioBias, GpioEdgeSelection, GpioInputRequest, GpioLineInfo, GpioOutputRequest } from './gpio-chip.ts';

// Requests and flags of version 2 of the kernel's GPIO character device, <linux/gpio.h> since Linux 5.10. Numbers are in the machine's byte
// order, which is little-endian on all supported boards. Structures have the same layout on 64-bit and 32-bit machines.
const IOC_READ = 2;
const IOC_READ_WRITE = 3;
const GPIO_TYPE = 0xb4;
const NAME_BYTES = 32;
const CHIP_INFO_BYTES = 68;
const LINE_INFO_BYTES = 256;
const LINE_REQUEST_BYTES = 592;
const LINE_VALUES_BYTES = 16;
/** `sizeof(struct gpio_v2_line_event)`. A read of a line's descriptor returns one or more whole structures. */
export const LINE_EVENT_BYTES = 48;

/** Second arguments of ioctl(2). */
export const GPIO_IOCTL = {
  chipInfo: requestNumber(IOC_READ, 0x01, CHIP_INFO_BYTES),
  lineInfo: requestNumber(IOC_READ_WRITE, 0x05, LINE_INFO_BYTES),
  requestLine: requestNumber(IOC_READ_WRITE, 0x07, LINE_REQUEST_BYTES),
  getValues: requestNumber(IOC_READ_WRITE, 0x0e, LINE_VALUES_BYTES),
  setValues: requestNumber(IOC_READ_WRITE, 0x0f, LINE_VALUES_BYTES),
} as const;

/** `enum gpio_v2_line_flag`. */
export const LINE_FLAG = {
  used: 1n << 0n,
  activeLow: 1n << 1n,
  input: 1n << 2n,
  output: 1n << 3n,
  edgeRising: 1n << 4n,
  edgeFalling: 1n << 5n,
  biasPullUp: 1n << 8n,
  biasPullDown: 1n << 9n,
  biasDisabled: 1n << 10n,
} as const;

/** `enum gpio_v2_line_attr_id`. */
export const LINE_ATTRIBUTE = { outputValues: 2, debounce: 3 } as const;
const RISING_EDGE = 1;

/** Offsets of members of `struct gpio_v2_line_request`. */
export const REQUEST_OFFSET = { consumer: 256, flags: 288, attributeCount: 296, attributes: 320, lineCount: 560, fd: 588 } as const;
/** Offsets of members of `struct gpio_v2_line_config_attribute`. */
export const ATTRIBUTE_OFFSET = { id: 0, value: 8, mask: 16 } as const;
const ONLY_LINE = 1n;
const MICROSECONDS_PER_MS = 1000;

/** Returns an empty `struct gpiochip_info`. */
export const emptyChipInfo = (): Buffer => Buffer.alloc(CHIP_INFO_BYTES);

/** Parses name, label and number of lines of a chip. */
export function readChipInfo(info: Buffer): { readonly name: string; readonly label: string; readonly lineCount: number } {
  return { name: textAt(info, 0), label: textAt(info, NAME_BYTES), lineCount: info.readUInt32LE(2 * NAME_BYTES) };
}

/** Encodes `struct gpio_v2_line_info` as a request for a line's information. */
export function lineInfoOf(offset: number): Buffer {
  const info = Buffer.alloc(LINE_INFO_BYTES);
  info.writeUInt32LE(offset, 2 * NAME_BYTES);
  return info;
}

/** Parses the line's information that the kernel wrote into the structure of `lineInfoOf`. */
export function readLineInfo(info: Buffer): GpioLineInfo {
  const flags = info.readBigUInt64LE(72);
  return {
    offset: info.readUInt32LE(2 * NAME_BYTES),
    name: textAt(info, 0),
    consumer: textAt(info, NAME_BYTES),
    isUsed: (flags & LINE_FLAG.used) !== 0n,
    direction: (flags & LINE_FLAG.output) !== 0n ? 'output' : 'input',
  };
}

/** Encodes `struct gpio_v2_line_request` for an input with its edges. */
export function inputRequest({ offset, isActiveLow, bias, edge, debounceMs }: GpioInputRequest, consumer: string): Buffer {
  const request = lineRequest(offset, consumer);
  request.writeBigUInt64LE(LINE_FLAG.input | BIAS_FLAGS[bias] | EDGE_FLAGS[edge] | activeLow(isActiveLow), REQUEST_OFFSET.flags);
  if (debounceMs > 0) addAttribute(request, LINE_ATTRIBUTE.debounce, BigInt(Math.round(debounceMs * MICROSECONDS_PER_MS)));
  return request;
}

/** Encodes `struct gpio_v2_line_request` for an output with its first value. */
export function outputRequest({ offset, isActiveLow, isActive }: GpioOutputRequest, consumer: string): Buffer {
  const request = lineRequest(offset, consumer);
  request.writeBigUInt64LE(LINE_FLAG.output | activeLow(isActiveLow), REQUEST_OFFSET.flags);
  addAttribute(request, LINE_ATTRIBUTE.outputValues, isActive ? ONLY_LINE : 0n);
  return request;
}

/** Returns the file descriptor that the kernel wrote into a request. */
export function readRequestFd(request: Buffer): number {
  return request.readInt32LE(REQUEST_OFFSET.fd);
}

/** Encodes `struct gpio_v2_line_values` for the only line of a request. */
export function lineValues(isActive = false): Buffer {
  const values = Buffer.alloc(LINE_VALUES_BYTES);
  values.writeBigUInt64LE(isActive ? ONLY_LINE : 0n, 0);
  values.writeBigUInt64LE(ONLY_LINE, 8);
  return values;
}

/** Returns the line's state that the kernel wrote into the structure of `lineValues`. */
export function isLineActive(values: Buffer): boolean {
  return (values.readBigUInt64LE(0) & ONLY_LINE) !== 0n;
}

/** A change of a line as the kernel reports it. */
export interface KernelEdge {
  readonly edge: 'rising' | 'falling';
  /** Time on CLOCK_MONOTONIC. */
  readonly atNs: bigint;
  /** Sequence number of the change on its line, from 1. A gap in the numbers means that changes were lost. */
  readonly sequence: number;
}

/** Parses the changes in bytes that were read from a line's descriptor. */
export function readEdges(bytes: Buffer): readonly KernelEdge[] {
  return Array.from({ length: Math.floor(bytes.length / LINE_EVENT_BYTES) }, (_, index) => {
    const at = index * LINE_EVENT_BYTES;
    return {
      edge: bytes.readUInt32LE(at + 8) === RISING_EDGE ? 'rising' : 'falling',
      atNs: bytes.readBigUInt64LE(at),
      sequence: bytes.readUInt32LE(at + 20),
    };
  });
}

const BIAS_FLAGS: Readonly<Record<GpioBias, bigint>> = {
  'as-is': 0n,
  disabled: LINE_FLAG.biasDisabled,
  'pull-up': LINE_FLAG.biasPullUp,
  'pull-down': LINE_FLAG.biasPullDown,
};

const EDGE_FLAGS: Readonly<Record<GpioEdgeSelection, bigint>> = {
  both: LINE_FLAG.edgeRising | LINE_FLAG.edgeFalling,
  rising: LINE_FLAG.edgeRising,
  falling: LINE_FLAG.edgeFalling,
};

function activeLow(isActiveLow: boolean): bigint {
  return isActiveLow ? LINE_FLAG.activeLow : 0n;
}

function lineRequest(offset: number, consumer: string): Buffer {
  const request = Buffer.alloc(LINE_REQUEST_BYTES);
  request.writeUInt32LE(offset, 0);
  request.write(consumer.slice(0, NAME_BYTES - 1), REQUEST_OFFSET.consumer, 'latin1');
  request.writeUInt32LE(1, REQUEST_OFFSET.lineCount);
  return request;
}

/** Adds an attribute with a 64-bit value. For a debounce period, the kernel reads only the lower 32 bits. */
function addAttribute(request: Buffer, id: number, value: bigint): void {
  request.writeUInt32LE(1, REQUEST_OFFSET.attributeCount);
  request.writeUInt32LE(id, REQUEST_OFFSET.attributes + ATTRIBUTE_OFFSET.id);
  request.writeBigUInt64LE(value, REQUEST_OFFSET.attributes + ATTRIBUTE_OFFSET.value);
  request.writeBigUInt64LE(ONLY_LINE, REQUEST_OFFSET.attributes + ATTRIBUTE_OFFSET.mask);
}

/** Returns the number of an ioctl request: `_IOC` of <asm-generic/ioctl.h>. */
function requestNumber(direction: number, number: number, size: number): number {
  return direction * 2 ** 30 + size * 2 ** 16 + GPIO_TYPE * 2 ** 8 + number;
}

function textAt(buffer: Buffer, offset: number): string {
  const bytes = buffer.subarray(offset, offset + NAME_BYTES);
  const end = bytes.indexOf(0);
  return bytes.toString('latin1', 0, end < 0 ? NAME_BYTES : end);
}
