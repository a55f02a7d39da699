import type { ReadingValue } from '../core/devices/sensor-readings.ts';

/** One thing that a source can measure. */
export interface FoundSensor {
  /**
   * Where it is, the same after every start: `<source>:<chip>[@<place>][/<channel>]`, such as `w1:28-000005e2fdc3`,
   * `iio:bme280@1-0076/temp` or `gpio:front_door`. The configuration names it so; what tells two chips apart is never an index.
   */
  readonly address: string;
  /** What it belongs to, a device id such as `board`, `bme280-1-0076` or the name that the owner gave in the source's own part. */
  readonly device: string;
  /** Name of the reading within the device, such as `temperature`, of the form of a device id. */
  readonly reading: string;
  /** `temperature`, `humidity`, `contact` …: the words of the capability files. */
  readonly kind: string;
  /** Unit of its values for people: `°C`, `%`, `hPa`; empty for on/off and counts. */
  readonly unit: string;
  /** What people call the reading, whole: `Front door`, `bme280 temperature`. */
  readonly title: string;
  /** What people call the device; the words of its id when absent. */
  readonly deviceTitle?: string;
  readonly area?: string;
  /** The owner wrote it into the configuration of the source itself, so it is listed whether or not the hub looks for others. */
  readonly isConfigured?: true;
}

/** Why there is no value: a value that means an error, bytes that are none, a sensor that is at work, one that does not answer. */
export type SensorFault = 'suspect' | 'garbled' | 'busy' | 'gone';

/** What a sensor said, in its unit and before the owner's calibration, or why it said nothing. */
export type SensorSample =
  | { readonly address: string; readonly value: ReadingValue /** When it was measured; now when absent. */; readonly atMs?: number }
  | { readonly address: string; readonly fault: SensorFault /** For people, one line. */; readonly detail: string };

/** Hears samples as they come. */
export type SampleListener = (sample: SensorSample) => void;

/** Which sensors are to be read, and until when. */
export interface ReadRequest {
  readonly addresses: readonly string[];
  readonly signal: AbortSignal;
}

/**
 * Port: one kind of sensors of the board, such as all probes on 1-Wire. What a source needs to run is started and stopped by whoever made
 * it; between start and stop it never throws for what is not there.
 */
export interface SensorSource {
  /** What its addresses begin with, such as `w1`. */
  readonly name: string;
  /** All that is there now; a bus or driver that is missing has nothing. */
  find(): Promise<readonly FoundSensor[]>;
  /**
   * Reads sensors that were found: `onSample` gets one sample for each address, in any order, and none after the signal has aborted. Never
   * blocks the loop, never rejects.
   */
  read(request: ReadRequest, onSample: SampleListener): Promise<void>;
  /** What sensors say unasked, such as an edge of a line; the answer stops it. Such a sensor can be read as well. */
  listen?(onSample: SampleListener): () => void;
}

/** What the owner knows better than the sensor: value × factor + offset, in the unit that is shown. */
export interface Calibration {
  readonly factor: number;
  readonly offset: number;
}

/** The value that is kept. */
export function calibrated(value: number, { factor, offset }: Calibration): number {
  return roundedValue(value * factor + offset);
}

/** Without the digits that binary fractions add. */
export function roundedValue(value: number): number {
  return Number(value.toPrecision(10));
}
