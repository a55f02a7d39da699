import type { ReadingValue } from '../core/devices/sensor-readings.ts';
import type { ReadingConfig } from './device-config.ts';

/** A sensor that a source has found. */
export interface FoundSensor {
  /**
   * The address of the sensor, which is the same after every start: `<source>:<chip>[@<bus address>][/<channel>]`. Examples are
   * `w1:28-000005e2fdc3`, `iio:bme280@1-0076/temp` and `gpio:front_door`. The configuration refers to sensors by their addresses.
   */
  readonly address: string;
  /** The id of the sensor's device, such as `board`, `bme280-1-0076` or a name from the configuration. */
  readonly device: string;
  /** Name of the reading within the device, such as `temperature`. It has the format of a device id. */
  readonly reading: string;
  /** Measured quantity, such as `temperature` or `contact`: the `kind` in the capability files. */
  readonly kind: string;
  /** Unit of the values for people, such as `°C`, `%` or `hPa`. It is empty for on/off values and counts. */
  readonly unit: string;
  /** Title of the reading for people, such as `Front door` or `bme280 temperature`. */
  readonly title: string;
  /** Title of the device for people; default: the words of its id. */
  readonly deviceTitle?: string;
  readonly area?: string;
  /** True if the source's own configuration names the sensor. Such a sensor is listed even if discovery is off. */
  readonly isConfigured?: true;
}

/** Reason for a missing value: `suspect` (the value means an error), `garbled` (malformed bytes), `busy`, or `gone` (no sensor there). */
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

/** A request to read sensors. An abort of the signal ends the read early. */
export interface ReadRequest {
  readonly addresses: readonly string[];
  readonly signal: AbortSignal;
}

/**
 * Port: the sensors of one technology on the board, such as all probes on 1-Wire. The code that creates a source also starts and stops it.
 * A running source never throws for missing hardware.
 */
export interface SensorSource {
  /** First part of the addresses of this source's sensors, such as `w1`. */
  readonly name: string;
  /** Returns the sensors that are present now; an empty list if the bus or driver is missing. */
  find(): Promise<readonly FoundSensor[]>;
  /**
   * Reads sensors that `find` returned. Calls `onSample` once for each address, in any order, but never after the signal has aborted. Never
   * blocks the event loop, and never rejects.
   */
  read(request: ReadRequest, onSample: SampleListener): Promise<void>;
  /** Calls `onSample` for samples without a request, for example when a line changes. The returned function stops this. */
  listen?(onSample: SampleListener): () => void;
}

/** Returns a value with the owner's calibration: value × factor + offset. */
export function calibrated(value: number, { factor, offset }: Pick<ReadingConfig, 'factor' | 'offset'>): number {
  return roundedValue(value * factor + offset);
}

/** Rounds a value to ten significant digits. This removes the errors of binary fractions. */
export function roundedValue(value: number): number {
  return Number(value.toPrecision(10));
}
