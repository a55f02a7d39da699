import { constants } from 'node:os';
import { AtmoError } from '../../core/errors.ts';
import { ChardevLine } from './chardev-line.ts';
import type { GpioChip, GpioEdge, GpioInput, GpioInputRequest, GpioLineInfo, GpioOutput, GpioOutputRequest } from './gpio-chip.ts';
import type { GpioKernel } from './gpio-kernel.ts';
import {
  emptyChipInfo,
  GPIO_IOCTL,
  inputRequest,
  lineInfoOf,
  outputRequest,
  readChipInfo,
  readLineInfo,
  readRequestFd,
} from './gpio-uapi.ts';

/** What `gpioinfo` shows as the user of our lines. */
const CONSUMER = 'atmosphere-edge';

/** A chip through version 2 of the kernel's GPIO character device (<linux/gpio.h>, Linux 5.10 or newer). */
export class ChardevChip implements GpioChip {
  readonly name: string;
  readonly label: string;
  readonly #kernel: GpioKernel;
  readonly #fd: number;
  readonly #lineCount: number;
  #isOpen = true;

  /** NOT_FOUND for a file that is not there, that we may not open or that is no GPIO chip. */
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

  requestInput(request: GpioInputRequest, hear: (edge: GpioEdge) => void): GpioInput {
    const line = this.#request(request.offset, inputRequest(request, CONSUMER));
    line.listen(hear);
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
    if (offset >= this.#lineCount) throw this.#hasNoLine(offset);
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

  #hasNoLine(offset: number): AtmoError {
    return new AtmoError('NOT_FOUND', `${this.label} has no line ${offset}, only 0 to ${this.#lineCount - 1}`, { offset });
  }
}

/** What a chip says to a bias, an edge or a direction that it has not. Linux gives ENOTSUPP (524) where userspace has no name for it. */
const REFUSALS: ReadonlySet<number> = new Set([constants.errno.EINVAL, constants.errno.EOPNOTSUPP, constants.errno.ENXIO, 524]);
