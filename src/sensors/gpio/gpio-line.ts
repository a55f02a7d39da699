import { AtmoError } from '../../core/errors.ts';
import type { FoundSensor, SampleListener, SensorSample } from '../sensor-source.ts';
import { findLine, type GpioChip, type GpioInput } from './gpio-chip.ts';
import type { GpioInputConfig } from './gpio-config.ts';

/** Device that all lines belong to: it is unreachable without their chip. */
export const GPIO_DEVICE = 'gpio';

type LineWords = Pick<GpioInputConfig, 'kind' | 'unit' | 'title' | 'area'>;

/** A named line of the configuration, with or without a chip. */
export abstract class GpioLine<Held extends GpioInput = GpioInput> {
  readonly name: string;
  readonly sensor: FoundSensor;
  /** The line of the chip while it is ours. */
  protected held: Held | undefined;
  readonly #listeners = new Set<SampleListener>();
  #problem = 'its chip was not opened yet';

  constructor(name: string, { kind, unit, title = titleOf(name), area }: LineWords) {
    const id = { address: `${GPIO_DEVICE}:${name}`, device: GPIO_DEVICE, reading: name };
    this.name = name;
    this.sensor = { ...id, kind, unit, title, ...(area !== undefined && { area }), isConfigured: true };
  }

  /** The reason why the line cannot be read or set; undefined while it can. */
  get problem(): string | undefined {
    return this.held ? undefined : this.#problem;
  }

  /** Takes the line, unless it is ours already; an error becomes its problem. */
  attach(chip: GpioChip): void {
    if (this.held) return;
    try {
      this.held = this.take(chip);
    } catch (error) {
      this.#problem = problemOf(error);
    }
  }

  /** Gives the line back. */
  detach(problem: string): void {
    this.held?.[Symbol.dispose]();
    this.held = undefined;
    this.#problem = problem;
  }

  /** The present value, or the reason for its absence. */
  sample(): SensorSample {
    const { address } = this.sensor;
    try {
      if (this.held) return { address, value: this.read(this.held) };
      return { address, fault: 'gone', detail: this.#problem };
    } catch (error) {
      return { address, fault: 'gone', detail: problemOf(error) };
    }
  }

  /** Calls the listener for each sample that the line emits; the returned function stops that. */
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

/** The offset of a configured line. NOT_FOUND lists the names of the chip's lines. */
export function offsetOf(chip: GpioChip, wanted: number | string): number {
  const lines = chip.lines();
  const offset = findLine(lines, wanted);
  if (offset !== undefined) return offset;
  const names = lines.map(({ name }) => name).filter((name) => name !== '');
  const there = typeof wanted === 'number' || names.length === 0 ? `only 0 to ${lines.length - 1}` : `only ${names.join(', ')}`;
  throw new AtmoError('NOT_FOUND', `${chip.label} has no line ${wanted}, ${there}`, { line: wanted });
}

/** The message of an error, for people. */
export function problemOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A name as a title: `front_door` is `Front door`. */
function titleOf(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
