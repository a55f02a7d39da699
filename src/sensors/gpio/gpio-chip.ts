import { GPIO_DEVICE } from '../../core/devices/gpio-ids.ts';
import { AtmoError } from '../../core/errors.ts';
import type { FoundSensor, SampleListener, SensorSample } from '../sensor-source.ts';
import type { GpioInputConfig } from './gpio-config.ts';

/** Settings of the pull resistor of a line. `as-is` keeps the setting of the firmware or the kernel. */
export const GPIO_BIASES = ['as-is', 'disabled', 'pull-up', 'pull-down'] as const;
export type GpioBias = (typeof GPIO_BIASES)[number];
/** The edges that an input can emit. An edge is a change of the active state: an active-low line rises when its voltage falls. */
export const GPIO_EDGES = ['both', 'rising', 'falling'] as const;
export type GpioEdgeSelection = (typeof GPIO_EDGES)[number];

/** The kernel's description of a line. The line may be free, or in use by any program. */
export interface GpioLineInfo {
  /** Number of the line within its chip, from 0. Unlike its other numbers, it is the same on every kernel. */
  readonly offset: number;
  /** The board's name for the line, such as `GPIO17`; empty if the firmware has none. */
  readonly name: string;
  /** User of the line, such as `spi0 CS0`; empty for a free line. */
  readonly consumer: string;
  readonly isUsed: boolean;
  readonly direction: 'input' | 'output';
}

/** A request for an input line. */
export interface GpioInputRequest {
  readonly offset: number;
  readonly isActiveLow: boolean;
  readonly bias: GpioBias;
  readonly edge: GpioEdgeSelection;
  /** Time in milliseconds that a new state must last before it counts; 0 for no minimum. */
  readonly debounceMs: number;
}

/** A request for an output line. */
export interface GpioOutputRequest {
  readonly offset: number;
  readonly isActiveLow: boolean;
  /** Initial state. */
  readonly isActive: boolean;
}

/** A change of an input's state. */
export interface GpioEdge {
  readonly edge: 'rising' | 'falling';
  /** Milliseconds between the change and its emission. The kernel's time stamp is used if there is one. */
  readonly ageMs: number;
  /** Number of lost changes of the line directly before this change. */
  readonly missed: number;
}

/** An input line that this hub has requested; disposal releases it. */
export interface GpioInput extends Disposable {
  /** Returns whether the line is active. Throws DEVICE_UNREACHABLE if the chip is gone. */
  isActive(): boolean;
}

/** An output line that this hub has requested. After disposal, the state of the line depends on the chip. */
export interface GpioOutput extends Disposable {
  /** Returns the last set state, read back from the chip. Throws DEVICE_UNREACHABLE if the chip is gone. */
  isActive(): boolean;
  /** Sets the output synchronously, so that an exit handler can call it. Throws DEVICE_UNREACHABLE if the chip is gone. */
  set(isActive: boolean): void;
}

/**
 * Port: the lines of one GPIO chip. All calls are synchronous. They take microseconds if the chip is a part of the processor. A line has
 * one user at a time. Requests throw CONFLICT (the line is in use), NOT_SUPPORTED (the chip cannot do this) or NOT_FOUND (unknown offset).
 */
export interface GpioChip extends Disposable {
  /** Name such as `gpiochip0`. It may change at every start of the system, so it is mainly for people. */
  readonly name: string;
  /** Label from the driver, such as `pinctrl-rp1`. It is the same after every start. */
  readonly label: string;
  lines(): readonly GpioLineInfo[];
  /** Requests an input line. `onEdge` is called for each later change, the oldest first, and never during this call. */
  requestInput(request: GpioInputRequest, onEdge: (edge: GpioEdge) => void): GpioInput;
  requestOutput(request: GpioOutputRequest): GpioOutput;
}

/** Returns the offset of a line by its number or by the board's name for it; undefined for an unknown line. */
export function findLine(lines: readonly GpioLineInfo[], wanted: number | string): number | undefined {
  return lines.find(({ offset, name }) => (typeof wanted === 'number' ? offset === wanted : name === wanted))?.offset;
}

/** Returns a function that runs `call` only once. So a second disposal cannot release a line that has a new user. */
export function onlyOnce(call: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    call();
  };
}

/** A named line of the configuration. It exists even while its chip is missing. */
export abstract class GpioLine<Held extends GpioInput = GpioInput> {
  readonly name: string;
  readonly sensor: FoundSensor;
  /** The requested line of the chip; undefined while the hub does not have it. */
  protected held: Held | undefined;
  readonly #listeners = new Set<SampleListener>();
  #problem = 'its chip was not opened yet';

  constructor(name: string, { kind, unit, title = titleOf(name), area }: Pick<GpioInputConfig, 'kind' | 'unit' | 'title' | 'area'>) {
    const id = { address: `${GPIO_DEVICE}:${name}`, device: GPIO_DEVICE, reading: name };
    this.name = name;
    this.sensor = { ...id, kind, unit, title, ...(area !== undefined && { area }), isConfigured: true };
  }

  /** Returns why the line cannot be read or set; undefined if it can. */
  get problem(): string | undefined {
    return this.held ? undefined : this.#problem;
  }

  /** Requests the line, unless this hub has it already. An error is not thrown, but becomes the line's problem. */
  attach(chip: GpioChip): void {
    if (this.held) return;
    try {
      this.held = this.take(chip);
    } catch (error) {
      this.#problem = problemOf(error);
    }
  }

  /** Releases the line. `problem` then says why the line cannot be used. */
  detach(problem: string): void {
    this.held?.[Symbol.dispose]();
    this.held = undefined;
    this.#problem = problem;
  }

  /** Returns a sample with the current value, or with the reason why there is none. */
  sample(): SensorSample {
    const { address } = this.sensor;
    try {
      if (this.held) return { address, value: this.read(this.held) };
      return { address, fault: 'gone', detail: this.#problem };
    } catch (error) {
      return { address, fault: 'gone', detail: problemOf(error) };
    }
  }

  /** Calls the listener for each sample that the line emits. The returned function removes the listener. */
  listen(onSample: SampleListener): () => void {
    this.#listeners.add(onSample);
    return () => this.#listeners.delete(onSample);
  }

  protected emit(sample: SensorSample = this.sample()): void {
    for (const onSample of this.#listeners) onSample(sample);
  }

  protected abstract take(chip: GpioChip): Held;

  protected read(held: Held): boolean | number {
    return held.isActive();
  }
}

/** Returns the offset of a configured line. If the chip has no such line, throws NOT_FOUND with the lines that exist. */
export function offsetOf(chip: GpioChip, wanted: number | string): number {
  const lines = chip.lines();
  const offset = findLine(lines, wanted);
  if (offset !== undefined) return offset;
  const names = lines.map(({ name }) => name).filter((name) => name !== '');
  const there = typeof wanted === 'number' || names.length === 0 ? `only 0 to ${lines.length - 1}` : `only ${names.join(', ')}`;
  throw new AtmoError('NOT_FOUND', `${chip.label} has no line ${wanted}, ${there}`, { line: wanted });
}

/** Returns the message of an error for people. */
export function problemOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns a name as a title: `Front door` for `front_door`. */
function titleOf(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
