import { AtmoError } from '../../core/errors.ts';
import type { Clock } from '../../core/time/clock.ts';
import { pause } from '../../core/time/pause.ts';
import type { FoundSensor, SampleListener, SensorSample } from '../sensor-source.ts';
import type { GpioChip, GpioOutput } from './gpio-chip.ts';
import type { GpioOutputConfig } from './gpio-config.ts';
import { type GpioLine, lineSensor, offsetOf, problemOf } from './gpio-line.ts';

/** An output: set by tools, safe whenever the hub stops or a time is over. */
export class OutputLine implements GpioLine {
  readonly name: string;
  readonly sensor: FoundSensor;
  readonly #clock: Clock;
  readonly #config: GpioOutputConfig;
  readonly #listeners = new Set<SampleListener>();
  #output: GpioOutput | undefined;
  #problem = 'its chip was not opened yet';
  #isFirst = true;
  /** Ends what set the output before: its timer, its pulse. */
  #turn = new AbortController();

  constructor(clock: Clock, name: string, config: GpioOutputConfig) {
    this.name = name;
    this.sensor = lineSensor(name, { ...config, kind: 'switch', unit: '' });
    this.#clock = clock;
    this.#config = config;
  }

  get problem(): string | undefined {
    return this.#output ? undefined : this.#problem;
  }

  /** At the start of the hub with its first state; a chip that comes back finds the safe one. */
  attach(chip: GpioChip): void {
    if (this.#output) return;
    const { line, activeLow: isActiveLow, initial, safe } = this.#config;
    const state = this.#isFirst ? (initial ?? safe) : safe;
    try {
      this.#output = chip.requestOutput({ offset: offsetOf(chip, line), isActiveLow, isActive: state === 'on' });
    } catch (error) {
      this.#problem = problemOf(error);
      return;
    }
    this.#isFirst = false;
    if (state !== safe) this.#limit(undefined);
  }

  detach(problem: string): void {
    this.makeSafe();
    this.#output?.[Symbol.dispose]();
    this.#output = undefined;
    this.#problem = problem;
  }

  /** For the last moment: never throws, and is in force when it returns. */
  makeSafe(): void {
    this.#turn.abort();
    try {
      this.#output?.set(this.#config.safe === 'on');
    } catch {
      // A chip that is gone drives nothing.
    }
  }

  /**
   * Sets it, for `seconds` where they are given: then it goes back to the safe state. DEVICE_UNREACHABLE when its chip is away.
   * A later call ends what an earlier one has begun.
   */
  set(isOn: boolean, seconds?: number): void {
    const output = this.#taken();
    this.#turn.abort();
    output.set(isOn);
    this.#tell();
    if (isOn !== this.#isSafeOn) this.#limit(seconds);
  }

  /** Leaves the safe state for a moment; false when another call took over meanwhile. Ends early, and safe, when the signal aborts. */
  async pulse(durationMs: number, signal: AbortSignal): Promise<boolean> {
    this.set(!this.#isSafeOn);
    const turn = this.#turn.signal;
    await pause(this.#clock, durationMs, AbortSignal.any([turn, signal]));
    if (turn.aborted) return false;
    this.set(this.#isSafeOn);
    signal.throwIfAborted();
    return true;
  }

  isOn(): boolean {
    return this.#taken().isActive();
  }

  sample(): SensorSample {
    const { address } = this.sensor;
    try {
      return { address, value: this.isOn() };
    } catch (error) {
      return { address, fault: 'gone', detail: problemOf(error) };
    }
  }

  listen(hear: SampleListener): () => void {
    this.#listeners.add(hear);
    return () => this.#listeners.delete(hear);
  }

  get #isSafeOn(): boolean {
    return this.#config.safe === 'on';
  }

  /** Goes back to the safe state when its time is over. */
  #limit(seconds = Number.POSITIVE_INFINITY): void {
    const turn = new AbortController();
    this.#turn = turn;
    const limitMs = Math.min(seconds, this.#config.maxSeconds ?? Number.POSITIVE_INFINITY) * 1000;
    if (limitMs === Number.POSITIVE_INFINITY) return;
    const cancel = this.#clock.after(limitMs, () => this.#timeIsOver());
    turn.signal.addEventListener('abort', cancel, { once: true });
  }

  #timeIsOver(): void {
    this.makeSafe();
    this.#tell();
  }

  #taken(): GpioOutput {
    if (this.#output) return this.#output;
    throw new AtmoError('DEVICE_UNREACHABLE', `The output ${this.name} cannot be reached: ${this.#problem}`, { output: this.name });
  }

  #tell(): void {
    for (const hear of this.#listeners) hear(this.sample());
  }
}
