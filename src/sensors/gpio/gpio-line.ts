import { AtmoError } from '../../core/errors.ts';
import type { FoundSensor, SampleListener, SensorSample } from '../sensor-source.ts';
import { findLine, type GpioChip } from './gpio-chip.ts';
import type { GpioInputConfig } from './gpio-config.ts';

/** Device that all lines belong to: it is away while their chip is. */
export const GPIO_DEVICE = 'gpio';

/** A named line of the configuration, with or without a chip behind it. */
export interface GpioLine {
  readonly name: string;
  /** How sensors are told of it. */
  readonly sensor: FoundSensor;
  /** Why it cannot be read or set; undefined while it can. */
  readonly problem: string | undefined;
  /** Takes the line; what goes wrong becomes its problem. Nothing where it is taken already. */
  attach(chip: GpioChip): void;
  /** Gives it back. */
  detach(problem: string): void;
  /** What it is now, or why nobody knows. */
  sample(): SensorSample;
  /** What it says unasked; the answer stops it. */
  listen(hear: SampleListener): () => void;
}

type LineWords = Pick<GpioInputConfig, 'kind' | 'unit' | 'title' | 'area'>;

/** The offset that the configuration means. NOT_FOUND says what the chip calls its lines. */
export function offsetOf(chip: GpioChip, wanted: number | string): number {
  const lines = chip.lines();
  const offset = findLine(lines, wanted);
  if (offset !== undefined) return offset;
  const names = lines.map(({ name }) => name).filter((name) => name !== '');
  const there = typeof wanted === 'number' || names.length === 0 ? `only 0 to ${lines.length - 1}` : `only ${names.join(', ')}`;
  throw new AtmoError('NOT_FOUND', `${chip.label} has no line ${wanted}, ${there}`, { line: wanted });
}

/** What went wrong, for people. */
export function problemOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A line as a sensor. */
export function lineSensor(name: string, { kind, unit, title = titleOf(name), area }: LineWords): FoundSensor {
  const place = { address: `${GPIO_DEVICE}:${name}`, device: GPIO_DEVICE, reading: name };
  return { ...place, kind, unit, title, ...(area !== undefined && { area }), isConfigured: true };
}

/** A name as a title: `front_door` is `Front door`. */
function titleOf(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
