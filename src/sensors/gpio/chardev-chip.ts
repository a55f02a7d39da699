import { readdirSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import type { GpioChip, GpioEdge, GpioInput, GpioInputRequest, GpioLineInfo, GpioOutput, GpioOutputRequest } from './gpio-chip.ts';
import type { GpioKernel } from './gpio-kernel.ts';
import {
  emptyChipInfo,
  GPIO_IOCTL,
  inputRequest,
  isLineActive,
  type KernelEdge,
  lineInfoOf,
  lineValues,
  outputRequest,
  readChipInfo,
  readEdges,
  readLineInfo,
  readRequestFd,
} from './gpio-uapi.ts';

/** Name of the hub as the user of a line. The command `gpioinfo` shows it. */
const CONSUMER = 'atmosphere-edge';

/** A chip through version 2 of the kernel's GPIO character device (<linux/gpio.h>, Linux 5.10 or newer). */
export class ChardevChip implements GpioChip {
  readonly name: string;
  readonly label: string;
  readonly #kernel: GpioKernel;
  readonly #fd: number;
  readonly #lineCount: number;
  #isOpen = true;

  /** Throws NOT_FOUND if the file is missing, cannot be opened, or is no GPIO chip. */
  constructor(kernel: GpioKernel, path: string) {
    const fd = kernel.open(path);
    if (fd === undefined) throw new AtmoError('NOT_FOUND', `There is no GPIO chip at ${path} that this user may open`, { path });
    const info = emptyChipInfo();
    const errno = kernel.ioctl(fd, GPIO_IOCTL.chipInfo, info);
    if (errno !== 0) {
      kernel.close(fd);
      throw new AtmoError('NOT_FOUND', `${path} is no GPIO chip: errno ${errno}`, { path });
    }
    const { name, label, lineCount } = readChipInfo(info);
    this.name = name;
    this.label = label;
    this.#kernel = kernel;
    this.#fd = fd;
    this.#lineCount = lineCount;
  }

  lines(): readonly GpioLineInfo[] {
    return Array.from({ length: this.#lineCount }, (_, offset) => {
      const info = lineInfoOf(offset);
      this.#check(this.#kernel.ioctl(this.#fd, GPIO_IOCTL.lineInfo, info), offset);
      return readLineInfo(info);
    });
  }

  requestInput(request: GpioInputRequest, onEdge: (edge: GpioEdge) => void): GpioInput {
    const line = this.#request(request.offset, inputRequest(request, CONSUMER));
    line.listen(onEdge);
    return line;
  }

  requestOutput(request: GpioOutputRequest): GpioOutput {
    return this.#request(request.offset, outputRequest(request, CONSUMER));
  }

  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#kernel.close(this.#fd);
  }

  #request(offset: number, request: Buffer): ChardevLine {
    if (offset >= this.#lineCount) {
      throw new AtmoError('NOT_FOUND', `${this.label} has no line ${offset}, only 0 to ${this.#lineCount - 1}`, { offset });
    }
    this.#check(this.#kernel.ioctl(this.#fd, GPIO_IOCTL.requestLine, request), offset);
    return new ChardevLine(this.#kernel, readRequestFd(request), `Line ${offset} of ${this.label}`);
  }

  #check(errno: number, offset: number): void {
    if (errno === 0) return;
    if (errno === constants.errno.EBUSY) throw new AtmoError('CONFLICT', `Line ${offset} of ${this.label} is in use already`, { offset });
    if (REFUSALS.has(errno)) {
      throw new AtmoError('NOT_SUPPORTED', `Line ${offset} of ${this.label} cannot do this: errno ${errno}`, { offset });
    }
    throw new AtmoError('DEVICE_UNREACHABLE', `Line ${offset} of ${this.label} cannot be reached: errno ${errno}`, { offset, errno });
  }
}

/** Errors that a chip returns for an unsupported bias, edge or direction. 524 is the kernel's ENOTSUPP, for which Node.js has no name. */
const REFUSALS: ReadonlySet<number> = new Set([constants.errno.EINVAL, constants.errno.EOPNOTSUPP, constants.errno.ENXIO, 524]);

const NANOSECONDS_PER_MS = 1e6;
const COUNTER_VALUES = 2 ** 32;

/** A requested line of a character device. Closing its file descriptor releases the line. */
class ChardevLine implements GpioInput, GpioOutput {
  readonly #kernel: GpioKernel;
  readonly #fd: number;
  readonly #what: string;
  #stopListening: (() => void) | undefined;
  #lastSequence = 0;
  #isOpen = true;

  /** `what` names the line in messages, such as `line 17 of pinctrl-rp1`. */
  constructor(kernel: GpioKernel, fd: number, what: string) {
    this.#kernel = kernel;
    this.#fd = fd;
    this.#what = what;
  }

  listen(onEdge: (edge: GpioEdge) => void): void {
    this.#stopListening = this.#kernel.whenReadable(this.#fd, () => this.#readEdges(onEdge));
  }

  isActive(): boolean {
    const values = lineValues();
    this.#call(GPIO_IOCTL.getValues, values);
    return isLineActive(values);
  }

  set(isActive: boolean): void {
    this.#call(GPIO_IOCTL.setValues, lineValues(isActive));
  }

  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#stopListening?.();
    this.#kernel.close(this.#fd);
  }

  #call(request: number, bytes: Buffer): void {
    const errno = this.#isOpen ? this.#kernel.ioctl(this.#fd, request, bytes) : 0;
    if (this.#isOpen && errno === 0) return;
    const why = this.#isOpen ? `its chip answers with errno ${errno}` : 'it was given back';
    throw new AtmoError('DEVICE_UNREACHABLE', `${this.#what} cannot be reached: ${why}`, { errno });
  }

  #readEdges(onEdge: (edge: GpioEdge) => void): void {
    const bytes = this.#isOpen ? this.#kernel.readWaiting(this.#fd) : undefined;
    if (!bytes) {
      // The descriptor of an unplugged chip stays readable forever, so listening must end here. Reading the line then throws.
      this.#stopListening?.();
      this.#stopListening = undefined;
      return;
    }
    const nowNs = this.#kernel.monotonicNs();
    for (const edge of readEdges(bytes)) onEdge(this.#edgeAt(nowNs, edge));
  }

  #edgeAt(nowNs: bigint, { edge, atNs, sequence }: KernelEdge): GpioEdge {
    const step = (sequence - this.#lastSequence + COUNTER_VALUES) % COUNTER_VALUES;
    this.#lastSequence = sequence;
    return { edge, ageMs: Math.max(0, Number(nowNs - atNs) / NANOSECONDS_PER_MS), missed: Math.max(0, step - 1) };
  }
}

/** Labels of the chip at the 40-pin header: of Raspberry Pi 5, then of Raspberry Pi 4, then of Raspberry Pi 3 and Zero 2 W. */
const HEADER_LABELS = ['pinctrl-rp1', 'pinctrl-bcm2711', 'pinctrl-bcm2835'];
const CHIP_FILE = /^gpiochip\d+$/;

/**
 * Returns the chip with this label (`pinctrl-rp1`), name (`gpiochip0`) or path (`/dev/gpiochip0`); default: the chip of the board's header.
 * Names change between kernels and boards, labels do not. If there is no such chip, throws NOT_FOUND with the existing chips.
 */
export function findChip(
  wanted: string | undefined,
  { kernel, devDir = '/dev' }: { readonly kernel: GpioKernel; readonly devDir?: string },
): GpioChip {
  if (wanted?.startsWith('/')) return new ChardevChip(kernel, wanted);
  const chips = openChips(kernel, devDir);
  const chip = wanted === undefined ? headerOf(chips) : chips.find(({ label, name }) => label === wanted || name === wanted);
  for (const other of chips) if (other !== chip) other[Symbol.dispose]();
  if (chip) return chip;
  const names = chips.map(({ label, name }) => `${label} (${name})`).join(', ');
  const there = names === '' ? 'there is none that this user may open (group gpio)' : `there are ${names}`;
  throw new AtmoError('NOT_FOUND', `No GPIO chip ${wanted ?? "of the board's header"}: ${there}`, {
    chips: chips.map(({ label }) => label),
  });
}

function openChips(kernel: GpioKernel, devDir: string): readonly GpioChip[] {
  return chipFiles(devDir).flatMap((file) => {
    try {
      return [new ChardevChip(kernel, join(devDir, file))];
    } catch {
      return [];
    }
  });
}

function chipFiles(devDir: string): readonly string[] {
  try {
    return readdirSync(devDir)
      .filter((file) => CHIP_FILE.test(file))
      .sort((a, b) => Number(a.slice(8)) - Number(b.slice(8)));
  } catch {
    return [];
  }
}

/** Returns the chip of the board's header. If no chip has a known label, returns the only chip, if there is exactly one. */
function headerOf(chips: readonly GpioChip[]): GpioChip | undefined {
  return chips.find(({ label }) => HEADER_LABELS.includes(label)) ?? (chips.length === 1 ? chips[0] : undefined);
}
