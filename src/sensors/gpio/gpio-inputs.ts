import type { Clock } from '../../core/clock.ts';
import { attemptWrite } from '../../core/files/file-system.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { FoundSensor, SampleListener, SensorSample } from '../sensor-source.ts';
import type { GpioChip, GpioEdge, GpioInput } from './gpio-chip.ts';
import { type GpioInputConfig, type GpioLine, lineSensor, offsetOf, problemOf } from './gpio-config.ts';

/** What inputs are made from. */
export interface InputPorts {
  readonly clock: Clock;
  /** Tells people of something that goes on at a line; the event is a word such as `gpio.flutters`. */
  readonly warn: (event: string, line: string, message: string) => void;
}

/** An input that is a state, such as a door contact: each change is told. */
export class StateInput implements GpioLine {
  readonly name: string;
  readonly sensor: FoundSensor;
  readonly #ports: InputPorts;
  readonly #config: GpioInputConfig;
  readonly #listeners = new Set<SampleListener>();
  readonly #guard: EdgeRateLimit;
  #input: GpioInput | undefined;
  #problem = 'its chip was not opened yet';

  constructor(ports: InputPorts, name: string, config: GpioInputConfig) {
    this.name = name;
    this.sensor = lineSensor(name, config);
    this.#ports = ports;
    this.#config = config;
    const { clock, warn } = ports;
    this.#guard = new EdgeRateLimit({
      clock,
      emitState: () => this.#tell(this.sample()),
      warn: () => warn('gpio.flutters', name, `${name} changes too fast to tell every change; is its wire connected, its bias set?`),
    });
  }

  get problem(): string | undefined {
    return this.#input ? undefined : this.#problem;
  }

  attach(chip: GpioChip): void {
    if (this.#input) return;
    const { line, activeLow: isActiveLow, bias, debounceMs, edge = 'both' } = this.#config;
    try {
      const request = { offset: offsetOf(chip, line), isActiveLow, bias, debounceMs, edge };
      this.#input = chip.requestInput(request, (change) => this.#changed(change));
    } catch (error) {
      this.#problem = problemOf(error);
    }
  }

  detach(problem: string): void {
    this.#guard.reset();
    this.#input?.[Symbol.dispose]();
    this.#input = undefined;
    this.#problem = problem;
  }

  sample(): SensorSample {
    const { address } = this.sensor;
    try {
      return this.#input ? { address, value: this.#input.isActive() } : { address, fault: 'gone', detail: this.#problem };
    } catch (error) {
      return { address, fault: 'gone', detail: problemOf(error) };
    }
  }

  listen(hear: SampleListener): () => void {
    this.#listeners.add(hear);
    return () => this.#listeners.delete(hear);
  }

  #changed({ edge, ageMs, missed }: GpioEdge): void {
    const { clock, warn } = this.#ports;
    if (missed > 0) warn('gpio.changes_missed', this.name, `${this.name}: ${missed} changes came faster than they could be read`);
    const atMs = Math.round(clock.now() - ageMs);
    this.#guard.pass(() => this.#tell({ address: this.sensor.address, value: edge === 'rising', atMs }));
  }

  #tell(sample: SensorSample): void {
    for (const hear of this.#listeners) hear(sample);
  }
}

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

/** A hand, a door and a relay stay far below; a wire that nobody holds does not. */
const MOST_A_SECOND = 20;
const SECOND_MS = 1000;

interface EdgeRateLimitCollaborators {
  readonly clock: Clock;
  /** Tells the state as it is when this is called. */
  readonly emitState: () => void;
  /** Says once in a while that changes come too fast. */
  readonly warn: () => void;
}

/** Lets changes through up to a rate; above it only the state at the end of each second is told. */
class EdgeRateLimit {
  readonly #ports: EdgeRateLimitCollaborators;
  #told = 0;
  #hasMore = false;
  #cancel: (() => void) | undefined;

  constructor(ports: EdgeRateLimitCollaborators) {
    this.#ports = ports;
  }

  /** Tells a change, or keeps it back. */
  pass(tell: () => void): void {
    this.#cancel ??= this.#ports.clock.after(SECOND_MS, () => this.#endSecond());
    this.#told += 1;
    if (this.#told <= MOST_A_SECOND) {
      tell();
      return;
    }
    if (!this.#hasMore) this.#ports.warn();
    this.#hasMore = true;
  }

  /** Forgets what was kept back; changes may come again later. */
  reset(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#told = 0;
    this.#hasMore = false;
  }

  #endSecond(): void {
    const isBehind = this.#hasMore;
    this.reset();
    if (isBehind) this.#ports.emitState();
  }
}
