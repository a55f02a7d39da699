import { AtmoError } from '../../core/errors.ts';
import type { GpioEdge, GpioInput, GpioOutput } from './gpio-chip.ts';
import type { GpioKernel } from './gpio-kernel.ts';
import { GPIO_IOCTL, isLineActive, type KernelEdge, lineValues, readEdges } from './gpio-uapi.ts';

const NANOSECONDS_PER_MS = 1e6;
const COUNTER_VALUES = 2 ** 32;

/** A line of a character device: the descriptor that the kernel gave for it. Closing it gives the line back. */
export class ChardevLine implements GpioInput, GpioOutput {
  readonly #kernel: GpioKernel;
  readonly #fd: number;
  readonly #what: string;
  #stopListening: (() => void) | undefined;
  #lastSequence = 0;
  #isOpen = true;

  /** `what` names the line in messages, as in `line 17 of pinctrl-rp1`. */
  constructor(kernel: GpioKernel, fd: number, what: string) {
    this.#kernel = kernel;
    this.#fd = fd;
    this.#what = what;
  }

  /** Tells every change from now on. */
  listen(hear: (edge: GpioEdge) => void): void {
    this.#stopListening = this.#kernel.whenReadable(this.#fd, () => this.#tell(hear));
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

  #tell(hear: (edge: GpioEdge) => void): void {
    const bytes = this.#isOpen ? this.#kernel.readWaiting(this.#fd) : undefined;
    if (!bytes) {
      // A chip that was unplugged is readable for ever; whoever reads the line learns that it is gone.
      this.#stopListening?.();
      this.#stopListening = undefined;
      return;
    }
    const nowNs = this.#kernel.monotonicNs();
    for (const edge of readEdges(bytes)) hear(this.#toldAt(nowNs, edge));
  }

  #toldAt(nowNs: bigint, { edge, atNs, sequence }: KernelEdge): GpioEdge {
    const step = (sequence - this.#lastSequence + COUNTER_VALUES) % COUNTER_VALUES;
    this.#lastSequence = sequence;
    return { edge, ageMs: Math.max(0, Number(nowNs - atNs) / NANOSECONDS_PER_MS), missed: Math.max(0, step - 1) };
  }
}
