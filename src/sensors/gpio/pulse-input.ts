import { attemptWrite } from '../../core/storage/durable-file.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { FoundSensor, SensorSample } from '../sensor-source.ts';
import type { GpioChip, GpioInput } from './gpio-chip.ts';
import type { GpioInputConfig } from './gpio-config.ts';
import { type GpioLine, lineSensor, offsetOf, problemOf } from './gpio-line.ts';

const SPACE = 'gpio-pulses';

/** What meters are made from. */
interface PulsePorts {
  readonly store: KeyValueStore;
}

/**
 * An input that counts the pulses of a meter. Its value is all that was ever counted, in the unit of the meter. Pulses that the
 * kernel saw and could not keep count too: it numbers them. Those of the time without a hub are nobody's.
 */
export class PulseInput implements GpioLine {
  readonly name: string;
  readonly sensor: FoundSensor;
  readonly #store: KeyValueStore;
  readonly #config: GpioInputConfig;
  readonly #countsPerUnit: number;
  #input: GpioInput | undefined;
  #problem = 'its chip was not opened yet';
  #count: number;
  #savedCount: number;

  constructor({ store }: PulsePorts, name: string, config: GpioInputConfig & { readonly countsPerUnit: number }) {
    this.name = name;
    this.sensor = lineSensor(name, config);
    this.#store = store;
    this.#config = config;
    this.#countsPerUnit = config.countsPerUnit;
    const kept = store.get(SPACE, name);
    this.#count = typeof kept === 'number' ? kept : 0;
    this.#savedCount = this.#count;
  }

  get problem(): string | undefined {
    return this.#input ? undefined : this.#problem;
  }

  attach(chip: GpioChip): void {
    if (this.#input) return;
    const { line, activeLow: isActiveLow, bias, debounceMs, edge = 'rising' } = this.#config;
    try {
      const request = { offset: offsetOf(chip, line), isActiveLow, bias, debounceMs, edge };
      this.#input = chip.requestInput(request, ({ missed }) => {
        this.#count += 1 + missed;
      });
    } catch (error) {
      this.#problem = problemOf(error);
    }
  }

  detach(problem: string): void {
    this.#input?.[Symbol.dispose]();
    this.#input = undefined;
    this.#problem = problem;
    // What the disk does not take now, the board writes when it saves all meters.
    attemptWrite(() => this.save());
  }

  /** Writes the count down where it has changed. */
  save(): void {
    if (this.#count === this.#savedCount) return;
    this.#store.set(SPACE, this.name, this.#count);
    this.#savedCount = this.#count;
  }

  sample(): SensorSample {
    const { address } = this.sensor;
    if (!this.#input) return { address, fault: 'gone', detail: this.#problem };
    return { address, value: this.#count / this.#countsPerUnit };
  }

  /** A meter is read like a thermometer: a history with every pulse would wear the card out. */
  listen(): () => void {
    return () => {};
  }
}
