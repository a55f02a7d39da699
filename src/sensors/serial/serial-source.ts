import type { Service } from '../../core/service.ts';
import type { Clock } from '../../core/time/clock.ts';
import { calibrated } from '../calibration.ts';
import { houseUnit } from '../house-unit.ts';
import type { FoundSensor, ReadRequest, SampleListener, SensorSample, SensorSource } from '../sensor-source.ts';
import { Instrument } from './instrument.ts';
import { type FieldsOf, lineReader } from './line-fields.ts';
import type { SerialPortConfig, SerialReadingConfig } from './serial-config.ts';
import type { OpenSerialPort } from './serial-port.ts';

interface Heard {
  readonly value: number;
  readonly atMs: number;
}

interface Port {
  readonly device: string;
  readonly config: SerialPortConfig;
  readonly fieldsOf: FieldsOf;
  readonly instrument: Instrument;
}

/** Instruments that send lines over serial ports: they speak when they want, and are asked for what they said last. */
export class SerialSource implements SensorSource, Service {
  readonly name = 'serial';
  readonly #clock: Clock;
  readonly #ports: readonly Port[];
  readonly #heard = new Map<string, Heard>();
  readonly #listeners = new Set<SampleListener>();

  /** CONFIG_INVALID for a pattern that cannot be. */
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
        instrument: new Instrument({ clock, open, hear: (line) => this.#take(port, line) }, config),
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
      Object.entries(config.readings).map(([name, reading]) => found(device, config, [name, reading])),
    );
  }

  async read({ addresses, signal }: ReadRequest, hear: SampleListener): Promise<void> {
    for (const address of addresses) if (!signal.aborted) hear(this.#lastOf(address));
  }

  listen(hear: SampleListener): () => void {
    this.#listeners.add(hear);
    return () => this.#listeners.delete(hear);
  }

  #lastOf(address: string): SensorSample {
    const heard = this.#heard.get(address);
    const port = this.#ports.find(({ device }) => address.startsWith(`serial:${device}/`));
    const problem = port ? port.instrument.problem : 'is no instrument of the configuration';
    if (problem !== undefined) return { address, fault: 'gone', detail: problem };
    const isFresh = heard && this.#clock.now() - heard.atMs <= (port?.config.silentAfterSeconds ?? 0) * 1000;
    return isFresh ? { address, ...heard } : { address, fault: 'gone', detail: 'says nothing that the settings know' };
  }

  #take({ device, config, fieldsOf }: Port, line: string): void {
    const fieldOf = fieldsOf(line);
    const atMs = this.#clock.now();
    for (const [name, reading] of Object.entries(config.readings)) {
      const value = measured(fieldOf(reading.field ?? name), reading);
      if (value === undefined) continue;
      const address = `serial:${device}/${name}`;
      this.#heard.set(address, { value, atMs });
      for (const hear of this.#listeners) hear({ address, value, atMs });
    }
  }
}

function found(device: string, config: SerialPortConfig, [name, reading]: readonly [string, SerialReadingConfig]): FoundSensor {
  return {
    address: `serial:${device}/${name}`,
    device,
    reading: name,
    kind: reading.kind ?? name,
    unit: houseUnit(reading.unit).unit,
    title: reading.title ?? `${config.title ?? device} ${name}`.replaceAll(/[-_]/g, ' '),
    isConfigured: true,
    ...(config.title !== undefined && { deviceTitle: config.title }),
    ...(config.area !== undefined && { area: config.area }),
  };
}

/** Numbers alone: what else an instrument says is no measurement. */
function measured(text: string | undefined, reading: SerialReadingConfig): number | undefined {
  const number = text === undefined || text.trim() === '' ? Number.NaN : Number(text.replace(',', '.'));
  return Number.isFinite(number) ? calibrated(houseUnit(reading.unit).convert(number), reading) : undefined;
}
