import type { Clock } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { tryParseJson, valueAt } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import type { SerialPortConfig, SerialReadingConfig } from '../sensor-config.ts';
import {
  calibrated,
  type FoundSensor,
  type ReadRequest,
  type SampleListener,
  type SensorSample,
  type SensorSource,
} from '../sensor-source.ts';
import { type OpenSerialPort, SerialConnection } from './serial-port.ts';

interface Port {
  readonly device: string;
  readonly config: SerialPortConfig;
  readonly fieldsOf: FieldsOf;
  readonly instrument: SerialConnection;
}

/** Receives the lines that instruments send over serial ports. A read returns the last received value. */
export class SerialSource implements SensorSource, Service {
  readonly name = 'serial';
  readonly #clock: Clock;
  readonly #ports: readonly Port[];
  readonly #latest = new Map<string, { readonly value: number; readonly atMs: number }>();
  readonly #listeners = new Set<SampleListener>();

  /** Throws CONFIG_INVALID if a pattern is malformed or has no named groups. */
  constructor(
    { clock, open }: { readonly clock: Clock; readonly open: OpenSerialPort },
    ports: Readonly<Record<string, SerialPortConfig>>,
  ) {
    this.#clock = clock;
    this.#ports = Object.entries(ports).map(([device, config]) => {
      const fieldsOf = lineReader(config, `sensors.serial.${device}`);
      const port: Port = {
        device,
        config,
        fieldsOf,
        instrument: new SerialConnection({ clock, open, onLine: (line) => this.#onLine(port, line) }, config),
      };
      return port;
    });
  }

  async start(): Promise<void> {
    for (const { instrument } of this.#ports) await instrument.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { instrument } of this.#ports) await instrument[Symbol.asyncDispose]();
  }

  async find(): Promise<readonly FoundSensor[]> {
    return this.#ports.flatMap(({ device, config }) =>
      Object.entries(config.readings).map(([name, reading]) => serialSensor(device, config, [name, reading])),
    );
  }

  async read({ addresses, signal }: ReadRequest, onSample: SampleListener): Promise<void> {
    for (const address of addresses) if (!signal.aborted) onSample(this.#lastOf(address));
  }

  listen(onSample: SampleListener): () => void {
    this.#listeners.add(onSample);
    return () => this.#listeners.delete(onSample);
  }

  #lastOf(address: string): SensorSample {
    const latest = this.#latest.get(address);
    const port = this.#ports.find(({ device }) => address.startsWith(`serial:${device}/`));
    const problem = port ? port.instrument.problem : 'is no instrument of the configuration';
    if (problem !== undefined) return { address, fault: 'gone', detail: problem };
    const isFresh = latest && this.#clock.now() - latest.atMs <= (port?.config.silentAfterSeconds ?? 0) * 1000;
    return isFresh ? { address, ...latest } : { address, fault: 'gone', detail: 'says nothing that the settings know' };
  }

  #onLine({ device, config, fieldsOf }: Port, line: string): void {
    const fieldOf = fieldsOf(line);
    const atMs = this.#clock.now();
    for (const [name, reading] of Object.entries(config.readings)) {
      const value = measured(fieldOf(reading.field ?? name), reading);
      if (value === undefined) continue;
      const address = `serial:${device}/${name}`;
      this.#latest.set(address, { value, atMs });
      for (const onSample of this.#listeners) onSample({ address, value, atMs });
    }
  }
}

function serialSensor(device: string, config: SerialPortConfig, [name, reading]: readonly [string, SerialReadingConfig]): FoundSensor {
  return {
    address: `serial:${device}/${name}`,
    device,
    reading: name,
    kind: reading.kind ?? name,
    unit: storedUnit(reading.unit).unit,
    title: reading.title ?? `${config.title ?? device} ${name}`.replaceAll(/[-_]/g, ' '),
    isConfigured: true,
    ...(config.title !== undefined && { deviceTitle: config.title }),
    ...(config.area !== undefined && { area: config.area }),
  };
}

/** Returns the number in a field, converted and calibrated; undefined if the text is no number. */
function measured(text: string | undefined, reading: SerialReadingConfig): number | undefined {
  const number = text === undefined || text.trim() === '' ? Number.NaN : Number(text.replace(',', '.'));
  return Number.isFinite(number) ? calibrated(storedUnit(reading.unit).convert(number), reading) : undefined;
}

/** Parses a line. The returned function returns the text of a field, or undefined if the line lacks the field. */
type FieldsOf = (line: string) => (field: string) => string | undefined;

const PAIR = /([^\s=:,;]+)\s*[=:]\s*("[^"]*"|[^\s,;]+)/g;
const NOTHING = () => undefined;

/** Returns the parser for the lines of a port. Throws CONFIG_INVALID if the pattern is malformed or has no named groups. */
function lineReader({ format, pattern }: Pick<SerialPortConfig, 'format' | 'pattern'>, setting: string): FieldsOf {
  if (format === 'json') return jsonFields;
  if (format === 'pairs') return pairFields;
  const expression = patternOf(pattern ?? '', setting);
  return (line) => {
    const groups = expression.exec(line)?.groups;
    return groups ? (field) => (Object.hasOwn(groups, field) ? groups[field] : undefined) : NOTHING;
  };
}

function patternOf(pattern: string, setting: string): RegExp {
  try {
    if (pattern.includes('(?<')) return new RegExp(pattern, 'u');
  } catch (error) {
    throw new AtmoError('CONFIG_INVALID', `${setting}.pattern: ${error instanceof Error ? error.message : 'is no regular expression'}`);
  }
  throw new AtmoError('CONFIG_INVALID', `${setting}.pattern needs named groups such as (?<temperature>-?[\\d.]+)`);
}

/** Parses a JSON line. The returned function returns the text of a field. A path with dots names a field of a nested object. */
function jsonFields(line: string) {
  const root = tryParseJson(line);
  return (field: string) => {
    const value = root === undefined ? undefined : valueAt(root, field.split('.'));
    return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string' ? String(value) : undefined;
  };
}

function pairFields(line: string) {
  const pairs = new Map([...line.matchAll(PAIR)].map(([, key = '', value = '']) => [key, value.replaceAll('"', '')]));
  return (field: string) => pairs.get(field);
}

interface Conversion {
  readonly unit: string;
  readonly convert: (value: number) => number;
}

const times = (unit: string, factor: number): Conversion => ({ unit, convert: (value) => value * factor });

/** For each unit of an instrument: the hub's unit for the same quantity, and the conversion to it. */
const CONVERSIONS: Readonly<Record<string, Conversion>> = {
  '°F': { unit: '°C', convert: (value) => ((value - 32) * 5) / 9 },
  K: { unit: '°C', convert: (value) => value - 273.15 },
  'm°C': times('°C', 1e-3),
  Pa: times('hPa', 1e-2),
  kPa: times('hPa', 10),
  mbar: times('hPa', 1),
  bar: times('hPa', 1000),
  psi: times('hPa', 68.947572932),
  mV: times('V', 1e-3),
  mA: times('A', 1e-3),
  mW: times('W', 1e-3),
  kW: times('W', 1000),
  Wh: times('kWh', 1e-3),
  MWh: times('kWh', 1000),
  J: times('kWh', 1 / 3.6e6),
  'l/h': times('m³/h', 1e-3),
  'l/min': times('m³/h', 0.06),
  mm: times('m', 1e-3),
  cm: times('m', 1e-2),
};

/** Returns the hub's unit for values in `unit`, and the conversion to it. Values in an unknown unit are not converted. */
export function storedUnit(unit: string): Conversion {
  return (Object.hasOwn(CONVERSIONS, unit) ? CONVERSIONS[unit] : undefined) ?? times(unit, 1);
}
