import type { ReadingValue } from '../core/devices/sensor-readings.ts';
import type { ReadingConfig } from './device-config.ts';

/** A sensor of a source. */
export interface FoundSensor {
  /**
   * The address, equal after every start: `<source>:<chip>[@<bus address>][/<channel>]`, such as `w1:28-000005e2fdc3`,
   * `iio:bme280@1-0076/temp` or `gpio:front_door`. The configuration refers to sensors by their addresses.
   */
  readonly address: string;
  /** The id of the sensor's device, such as `board`, `bme280-1-0076` or a name from the configuration. */
  readonly device: string;
  /** Name of the reading within the device, such as `temperature`, in the form of a device id. */
  readonly reading: string;
  /** Measured quantity, such as `temperature` or `contact`: the `kind` in the capability files. */
  readonly kind: string;
  /** Unit of the values for people: `°C`, `%`, `hPa`; empty for on/off and counts. */
  readonly unit: string;
  /** Title of the reading for people: `Front door`, `bme280 temperature`. */
  readonly title: string;
  /** Title of the device for people; default: the words of its id. */
  readonly deviceTitle?: string;
  readonly area?: string;
  /** True for a sensor that the source's own configuration names. It is listed even if discovery is off. */
  readonly isConfigured?: true;
}

/** Reason for a missing value: an error value, malformed bytes, a busy sensor, or a removed sensor. */
export type SensorFault = 'suspect' | 'garbled' | 'busy' | 'gone';

/** A value of a sensor, in its unit and before the owner's calibration, or the reason for its absence. */
export type SensorSample =
  | {
      readonly address: string;
      readonly value: ReadingValue /** `atMs`: time of the measurement, milliseconds since 1970; default: now. */;
      readonly atMs?: number;
    }
  | { readonly address: string; readonly fault: SensorFault /** `detail`: explanation for people, one line. */; readonly detail: string };

/** Is called with each sample. */
export type SampleListener = (sample: SensorSample) => void;

/** The sensors to read; the signal ends the read. */
export interface ReadRequest {
  readonly addresses: readonly string[];
  readonly signal: AbortSignal;
}

/**
 * Port: one kind of sensors of the board, such as all probes on 1-Wire. The creator of a source starts and stops it. Missing hardware is
 * not an error: a running source never throws for it.
 */
export interface SensorSource {
  /** The first part of its addresses, such as `w1`. */
  readonly name: string;
  /** Returns the present sensors; an empty list if the bus or driver is missing. */
  find(): Promise<readonly FoundSensor[]>;
  /**
   * Reads sensors that `find` returned: `onSample` is called once for each address, in any order, and never after the signal has aborted.
   * Never blocks the event loop, never rejects.
   */
  read(request: ReadRequest, onSample: SampleListener): Promise<void>;
  /** Emits samples without a request, for example when a line changes. The returned function stops the emission. */
  listen?(onSample: SampleListener): () => void;
}

/** Returns a value with the owner's calibration: value × factor + offset. */
export function calibrated(value: number, { factor, offset }: Pick<ReadingConfig, 'factor' | 'offset'>): number {
  return roundedValue(value * factor + offset);
}

/** Returns a value without the digits that binary fractions add. */
export function roundedValue(value: number): number {
  return Number(value.toPrecision(10));
}
