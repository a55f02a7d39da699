import type { Clock } from '../../core/time/clock.ts';
import type { FoundSensor, SampleListener, SensorSample } from '../sensor-source.ts';
import { FlutterGuard } from './flutter-guard.ts';
import type { GpioChip, GpioEdge, GpioInput } from './gpio-chip.ts';
import type { GpioInputConfig } from './gpio-config.ts';
import { type GpioLine, lineSensor, offsetOf, problemOf } from './gpio-line.ts';

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
  readonly #guard: FlutterGuard;
  #input: GpioInput | undefined;
  #problem = 'its chip was not opened yet';

  constructor(ports: InputPorts, name: string, config: GpioInputConfig) {
    this.name = name;
    this.sensor = lineSensor(name, config);
    this.#ports = ports;
    this.#config = config;
    const { clock, warn } = ports;
    this.#guard = new FlutterGuard({
      clock,
      tellState: () => this.#tell(this.sample()),
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
