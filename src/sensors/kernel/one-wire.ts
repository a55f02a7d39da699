import { type Clock, pause } from '../../core/clock.ts';
import type { FoundSensor, ReadRequest, SampleListener, SensorSource } from '../sensor-source.ts';
import { kernelNumber, ReadLock, type ReadOutcome, readInSequence, type Sysfs } from './sysfs.ts';

const DEVICES = 'bus/w1/devices';
/** Families that measure temperatures (Documentation/w1/slaves/w1_therm.rst). */
const PROBE = /^(?:10|22|28|3b|42)-[0-9a-f]{12}$/;
const SOURCE = 'w1:';
const BULK = 'therm_bulk_read';
/** One probe alone gains nothing. */
const BULK_FROM = 2;
const BULK_LOOKS = 20;
const BULK_LOOK_MS = 100;

/**
 * Temperature probes on 1-Wire (driver w1_therm). A read starts a conversion, up to 750 ms: one at a time on a bus, or all of a bus at
 * once where the driver can (`therm_bulk_read`) and the hub may write it.
 */
export class W1Source implements SensorSource {
  readonly name = 'w1';
  readonly #kernel: Sysfs;
  readonly #clock: Clock;
  readonly #lanes = new Map<string, ReadLock>();
  readonly #lastCelsius = new Map<string, number>();

  constructor({ kernel, clock }: { readonly kernel: Sysfs; readonly clock: Clock }) {
    this.#kernel = kernel;
    this.#clock = clock;
  }

  async find(): Promise<readonly FoundSensor[]> {
    const names = await this.#kernel.list(DEVICES);
    return names.filter((name) => PROBE.test(name)).map(probe);
  }

  async read({ addresses, signal }: ReadRequest, hear: SampleListener): Promise<void> {
    const buses = new Map<string, string[]>();
    for (const address of addresses) {
      const bus = await this.#busOf(address);
      buses.set(bus, [...(buses.get(bus) ?? []), address]);
    }
    await Promise.all([...buses].map(([bus, ofBus]) => this.#readBus(bus, { addresses: ofBus, signal }, hear)));
  }

  async #readBus(bus: string, request: ReadRequest, hear: SampleListener): Promise<void> {
    const lane = this.#lanes.get(bus) ?? new ReadLock();
    this.#lanes.set(bus, lane);
    if (request.addresses.length >= BULK_FROM && !lane.isTaken) await this.#convertAll(bus, lane, request.signal);
    await readInSequence(request, { lane, read: (address) => this.#readProbe(address) }, hear);
  }

  /** Whatever hinders it, each probe can still be asked alone. */
  async #convertAll(bus: string, lane: ReadLock, signal: AbortSignal): Promise<void> {
    const path = `${DEVICES}/${bus}/${BULK}`;
    if ((await this.#kernel.maybe(path)) === undefined) return;
    const convert = async () => {
      await this.#kernel.write(path, 'trigger\n');
      for (let look = 0; look < BULK_LOOKS && !signal.aborted && (await this.#kernel.maybe(path)) === '-1'; look++)
        await pause(this.#clock, BULK_LOOK_MS, signal);
    };
    await lane.run(convert, signal).catch(() => undefined);
  }

  async #readProbe(address: string): Promise<ReadOutcome> {
    const id = address.slice(SOURCE.length);
    const folder = `${DEVICES}/${id}`;
    const text = await this.#kernel.either(`${folder}/w1_slave`, `${folder}/temperature`);
    const lastCelsius = this.#lastCelsius.get(address);
    const outcome = parseProbe(text, { family: id.slice(0, 2), ...(lastCelsius !== undefined && { lastCelsius }) });
    if ('value' in outcome) this.#lastCelsius.set(address, Number(outcome.value));
    return outcome;
  }

  async #busOf(address: string): Promise<string> {
    const place = await this.#kernel.placeOf(`${DEVICES}/${address.slice(SOURCE.length)}`);
    return place.findLast((name) => name.startsWith('w1_bus_master')) ?? '';
  }
}

function probe(name: string): FoundSensor {
  return {
    address: `${SOURCE}${name}`,
    device: `w1-${name}`,
    reading: 'temperature',
    kind: 'temperature',
    unit: '°C',
    title: `Probe ${name} temperature`,
    deviceTitle: `Probe ${name}`,
  };
}

/** What the chip has in its memory until the first conversion (Maxim DS18B20, "Memory"). */
const POWER_ON = 85;
/** What comes of a conversion with too little current (Documentation/ABI/testing/sysfs-driver-w1_therm, features). */
const NO_POWER = 127.94;
/** Byte 6 of the memory while no conversion has been (the same). */
const NO_CONVERSION = 0x0c;
/** A true 85 °C comes from near by. */
const NEAR_CELSIUS = 5;
/** Thermocouples reach further than the chips that measure their own temperature. */
const THERMOCOUPLES = '3b';

/** What is known of a probe besides what it says. */
export interface ProbeContext {
  /** Family code, the first two digits of its id. */
  readonly family: string;
  /** The last value that was believed, °C. */
  readonly lastCelsius?: number;
}

/**
 * A temperature in °C from `w1_slave` (two lines, the first ends in YES where the checksum is right) or from `temperature` (a line in
 * millidegrees), Documentation/w1/slaves/w1_therm.rst. An empty text means that a conversion is running.
 */
export function parseProbe(text: string, context: ProbeContext): ReadOutcome {
  if (text.trim() === '') return { fault: 'busy', detail: 'a conversion is running' };
  const [first = '', second = ''] = text.split('\n');
  if (!first.includes('crc=')) return believe(kernelNumber(first), { ...context, memory: [] });
  // What stands behind a NO is the last value that was right, however old.
  if (!first.endsWith('YES')) return { fault: 'garbled', detail: 'the checksum is wrong; look at the wires and the resistor' };
  const memory =
    first
      .split(' : ')[0]
      ?.split(' ')
      .map((byte) => Number.parseInt(byte, 16)) ?? [];
  return believe(kernelNumber(/t=(-?\d+)/.exec(second)?.[1]), { ...context, memory });
}

function believe(
  millidegrees: number | undefined,
  { family, lastCelsius, memory }: ProbeContext & { readonly memory: readonly number[] },
): ReadOutcome {
  if (millidegrees === undefined) return { fault: 'garbled', detail: 'there is no temperature in what the driver says' };
  const value = millidegrees / 1000;
  if (memory.length > 0 && memory.every((byte) => byte === 0)) return suspect('all bytes are 0, as on a wire that is shorted');
  if (Math.abs(value - NO_POWER) < 0.05) return suspect('127.94 °C is what a probe without enough current says');
  if (value === POWER_ON && !isTrue85(memory, lastCelsius)) return suspect('85 °C is what a probe says that has not measured');
  if (family !== THERMOCOUPLES && (value < -55 || value > 125)) return suspect(`${value} °C is beyond what such a probe measures`);
  return { value };
}

function isTrue85(memory: readonly number[], lastCelsius: number | undefined): boolean {
  return memory[6] !== NO_CONVERSION && lastCelsius !== undefined && Math.abs(lastCelsius - POWER_ON) <= NEAR_CELSIUS;
}

function suspect(detail: string): ReadOutcome {
  return { fault: 'suspect', detail };
}
