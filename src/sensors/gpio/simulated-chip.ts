import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import {
  type GpioChip,
  type GpioEdge,
  type GpioInput,
  type GpioInputRequest,
  type GpioLineInfo,
  type GpioOutput,
  type GpioOutputRequest,
  onlyOnce,
} from './gpio-chip.ts';

interface SimLine {
  consumer: string;
  direction: GpioLineInfo['direction'];
  /** True for a high voltage. The active-low setting is not applied to this value. */
  isHigh: boolean;
  /** Is called after a change of the voltage. */
  changed: (() => void) | undefined;
}

interface SimOptions {
  readonly label?: string;
  /** Names of the lines by offset; default: 8 lines without names. */
  readonly names?: readonly string[];
}

/** A chip without hardware, for tests and for trying a configuration. `drive` simulates the connected devices. */
export class SimulatedChip implements GpioChip {
  readonly name = 'sim';
  readonly label: string;
  readonly #clock: Clock;
  readonly #names: readonly string[];
  readonly #lines: readonly SimLine[];

  constructor(clock: Clock, { label = 'sim', names = Array.from({ length: 8 }, () => '') }: SimOptions = {}) {
    this.label = label;
    this.#clock = clock;
    this.#names = names;
    this.#lines = names.map(() => ({ consumer: '', direction: 'input', isHigh: false, changed: undefined }));
  }

  /** Sets the voltage of a line from outside, like a button or a sensor. */
  drive(offset: number, isHigh: boolean): void {
    const line = this.#line(offset);
    if (line.isHigh === isHigh) return;
    line.isHigh = isHigh;
    line.changed?.();
  }

  /** Returns whether a line has a high voltage. */
  isHigh(offset: number): boolean {
    return this.#line(offset).isHigh;
  }

  lines(): readonly GpioLineInfo[] {
    return this.#lines.map(({ consumer, direction }, offset) => ({
      offset,
      name: this.#names[offset] ?? '',
      consumer,
      isUsed: consumer !== '',
      direction,
    }));
  }

  requestInput(request: GpioInputRequest, onEdge: (edge: GpioEdge) => void): GpioInput {
    const line = this.#take(request.offset, 'input');
    if (request.bias === 'pull-up') line.isHigh = true;
    const input = new SimInput(this.#clock, line, request);
    line.changed = () => input.settle(onEdge);
    return input;
  }

  requestOutput({ offset, isActiveLow, isActive }: GpioOutputRequest): GpioOutput {
    const line = this.#take(offset, 'output');
    line.isHigh = isActive !== isActiveLow;
    return {
      isActive: () => line.isHigh !== isActiveLow,
      set: (value) => {
        line.isHigh = value !== isActiveLow;
      },
      [Symbol.dispose]: onlyOnce(() => release(line)),
    };
  }

  [Symbol.dispose](): void {
    for (const line of this.#lines) release(line);
  }

  #take(offset: number, direction: SimLine['direction']): SimLine {
    const line = this.#line(offset);
    if (line.consumer !== '') throw new AtmoError('CONFLICT', `Line ${offset} of ${this.label} is in use already`, { offset });
    line.consumer = 'atmosphere-edge';
    line.direction = direction;
    return line;
  }

  #line(offset: number): SimLine {
    const line = this.#lines[offset];
    if (!line) throw new AtmoError('NOT_FOUND', `${this.label} has no line ${offset}, only 0 to ${this.#lines.length - 1}`, { offset });
    return line;
  }
}

/** An input of the simulated chip. A new state counts only after it has lasted for the debounce time. */
class SimInput implements GpioInput {
  readonly #clock: Clock;
  readonly #line: SimLine;
  readonly #request: GpioInputRequest;
  #isStableHigh: boolean;
  #cancel: () => void = () => undefined;
  readonly #giveBack: () => void;

  constructor(clock: Clock, line: SimLine, request: GpioInputRequest) {
    this.#clock = clock;
    this.#line = line;
    this.#request = request;
    this.#isStableHigh = line.isHigh;
    this.#giveBack = onlyOnce(() => release(line));
  }

  isActive(): boolean {
    return this.#isStableHigh !== this.#request.isActiveLow;
  }

  settle(onEdge: (edge: GpioEdge) => void): void {
    this.#cancel();
    const changedMs = this.#clock.monotonic();
    this.#cancel = this.#clock.after(this.#request.debounceMs, () => {
      if (this.#isStableHigh === this.#line.isHigh) return;
      this.#isStableHigh = this.#line.isHigh;
      const edge = this.isActive() ? 'rising' : 'falling';
      const isWanted = this.#request.edge === 'both' || this.#request.edge === edge;
      if (isWanted) onEdge({ edge, ageMs: this.#clock.monotonic() - changedMs, missed: 0 });
    });
  }

  [Symbol.dispose](): void {
    this.#cancel();
    this.#giveBack();
  }
}

/** Releases a line. As on most chips, it keeps its level, but is no longer driven. */
function release(line: SimLine): void {
  line.consumer = '';
  line.direction = 'input';
  line.changed = undefined;
}
