import { constants } from 'node:os';
import type { GpioKernel } from '../../../src/sensors/gpio/gpio-kernel.ts';
import {
  ATTRIBUTE_OFFSET,
  GPIO_IOCTL,
  LINE_ATTRIBUTE,
  LINE_EVENT_BYTES,
  LINE_FLAG,
  REQUEST_OFFSET,
} from '../../../src/sensors/gpio/gpio-uapi.ts';
import { ManualClock } from '../../manual-clock.ts';

const KEPT_EVENTS = 16;
const { EBUSY, EINVAL, ENODEV, ENOTTY } = constants.errno;

interface FakeLine {
  readonly name: string;
  isHigh: boolean;
  consumer: string;
  flags: bigint;
}

interface Handle {
  readonly line: FakeLine;
  readonly debounceMs: number;
  isStableHigh: boolean;
  sequence: number;
  events: Buffer[];
  callback: (() => void) | undefined;
  cancel: () => void;
}

/** A kernel with one chip, which reads and writes the structures of <linux/gpio.h> as Linux does. */
export class FakeGpioKernel implements GpioKernel {
  readonly clock = new ManualClock();
  readonly lines: readonly FakeLine[];
  readonly #label: string;
  readonly #handles = new Map<number, Handle>();
  readonly #chips = new Set<number>();
  #nextFd = 100;
  isUnplugged = false;
  /** Lines that answer nothing any more, though their chip does. */
  readonly brokenOffsets = new Set<number>();

  constructor(label = 'pinctrl-rp1', names: readonly string[] = Array.from({ length: 8 }, () => '')) {
    this.#label = label;
    this.lines = names.map((name) => ({ name, isHigh: false, consumer: '', flags: 0n }));
  }

  get openDescriptors(): number {
    return this.#handles.size + this.#chips.size;
  }

  open(path: string): number | undefined {
    if (!path.endsWith('gpiochip0')) return undefined;
    this.#chips.add(this.#nextFd);
    return this.#nextFd++;
  }

  ioctl(fd: number, request: number, bytes: Buffer): number {
    if (this.isUnplugged) return ENODEV;
    const handle = this.#handles.get(fd);
    if (handle) return this.#lineCall(handle, request, bytes);
    if (!this.#chips.has(fd)) return constants.errno.EBADF;
    if (request === GPIO_IOCTL.chipInfo) return this.#chipInfo(bytes);
    if (request === GPIO_IOCTL.lineInfo) return this.#lineInfo(bytes);
    return request === GPIO_IOCTL.requestLine ? this.#requestLine(bytes) : ENOTTY;
  }

  readWaiting(fd: number): Buffer | undefined {
    if (this.isUnplugged) return undefined;
    return Buffer.concat(this.#handles.get(fd)?.events.splice(0) ?? []);
  }

  whenReadable(fd: number, callback: () => void): () => void {
    const handle = this.#handles.get(fd);
    if (handle) handle.callback = callback;
    return () => {
      if (handle) handle.callback = undefined;
    };
  }

  close(fd: number): void {
    const handle = this.#handles.get(fd);
    handle?.cancel();
    if (handle) Object.assign(handle.line, { consumer: '', flags: 0n });
    if (!this.#handles.delete(fd) && !this.#chips.delete(fd)) throw new Error(`descriptor ${fd} is closed twice`);
  }

  monotonicNs(): bigint {
    return BigInt(this.clock.monotonic()) * 1_000_000n;
  }

  /** Changes the voltage; `isRead: false` leaves the change where the reader finds it later. */
  drive(offset: number, isHigh: boolean, { isRead = true } = {}): void {
    const line = this.lines[offset];
    if (!line || line.isHigh === isHigh) return;
    line.isHigh = isHigh;
    for (const handle of this.#handles.values()) if (handle.line === line) this.#settle(handle, isRead);
  }

  #settle(handle: Handle, isRead: boolean): void {
    handle.cancel();
    const settled = () => {
      if (handle.isStableHigh === handle.line.isHigh) return;
      handle.isStableHigh = handle.line.isHigh;
      this.#queue(handle, isActive(handle.line));
      if (isRead) handle.callback?.();
    };
    if (handle.debounceMs > 0) handle.cancel = this.clock.after(handle.debounceMs, settled);
    else settled();
  }

  #queue(handle: Handle, isRising: boolean): void {
    const wanted = isRising ? LINE_FLAG.edgeRising : LINE_FLAG.edgeFalling;
    if ((handle.line.flags & wanted) === 0n) return;
    const event = Buffer.alloc(LINE_EVENT_BYTES);
    event.writeBigUInt64LE(this.monotonicNs(), 0);
    event.writeUInt32LE(isRising ? 1 : 2, 8);
    event.writeUInt32LE(++handle.sequence, 20);
    handle.events = [...handle.events, event].slice(-KEPT_EVENTS);
  }

  #chipInfo(bytes: Buffer): number {
    bytes.write('gpiochip0', 0);
    bytes.write(this.#label, 32);
    bytes.writeUInt32LE(this.lines.length, 64);
    return 0;
  }

  #lineInfo(bytes: Buffer): number {
    const line = this.lines[bytes.readUInt32LE(64)];
    if (!line) return EINVAL;
    bytes.write(line.name, 0);
    bytes.write(line.consumer, 32);
    bytes.writeBigUInt64LE(line.flags | (line.consumer === '' ? 0n : LINE_FLAG.used), 72);
    return 0;
  }

  #requestLine(bytes: Buffer): number {
    const line = this.lines[bytes.readUInt32LE(0)];
    if (!line || bytes.readUInt32LE(REQUEST_OFFSET.lineCount) !== 1) return EINVAL;
    if (line.consumer !== '') return EBUSY;
    const attributes = attributesOf(bytes);
    line.consumer = bytes.toString('latin1', REQUEST_OFFSET.consumer, bytes.indexOf(0, REQUEST_OFFSET.consumer));
    line.flags = bytes.readBigUInt64LE(REQUEST_OFFSET.flags);
    if ((line.flags & LINE_FLAG.biasPullUp) !== 0n) line.isHigh = true;
    if ((line.flags & LINE_FLAG.output) !== 0n) setActive(line, attributes.get(LINE_ATTRIBUTE.outputValues) === 1n);
    this.#handles.set(this.#nextFd, {
      line,
      debounceMs: Number(attributes.get(LINE_ATTRIBUTE.debounce) ?? 0n) / 1000,
      isStableHigh: line.isHigh,
      sequence: 0,
      events: [],
      callback: undefined,
      cancel: () => undefined,
    });
    bytes.writeInt32LE(this.#nextFd++, REQUEST_OFFSET.fd);
    return 0;
  }

  #lineCall({ line }: Handle, request: number, bytes: Buffer): number {
    if (this.brokenOffsets.has(this.lines.indexOf(line))) return ENODEV;
    if (bytes.readBigUInt64LE(8) !== 1n) return EINVAL;
    if (request === GPIO_IOCTL.getValues) bytes.writeBigUInt64LE(isActive(line) ? 1n : 0n, 0);
    else if (request === GPIO_IOCTL.setValues && (line.flags & LINE_FLAG.output) !== 0n) setActive(line, bytes.readBigUInt64LE(0) === 1n);
    else return constants.errno.EPERM;
    return 0;
  }
}

function attributesOf(bytes: Buffer): ReadonlyMap<number, bigint> {
  const count = bytes.readUInt32LE(REQUEST_OFFSET.attributeCount);
  return new Map(
    Array.from({ length: count }, (_, index) => {
      const at = REQUEST_OFFSET.attributes + 24 * index;
      return [bytes.readUInt32LE(at + ATTRIBUTE_OFFSET.id), bytes.readBigUInt64LE(at + ATTRIBUTE_OFFSET.value)];
    }),
  );
}

function isActive(line: FakeLine): boolean {
  return line.isHigh !== ((line.flags & LINE_FLAG.activeLow) !== 0n);
}

function setActive(line: FakeLine, value: boolean): void {
  line.isHigh = value !== ((line.flags & LINE_FLAG.activeLow) !== 0n);
}
