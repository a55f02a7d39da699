import { type Clock, pause } from '../../core/clock.ts';
import type { FoundSensor, ReadRequest, SampleListener, SensorSource } from '../sensor-source.ts';
import { kernelNumber, ReadLock, type ReadOutcome, readInSequence, type Sysfs } from './sysfs.ts';

const DEVICES = 'bus/w1/devices';
/** Ids of temperature probes. The first two digits are the family (Documentation/w1/slaves/w1_therm.rst). */
const PROBE = /^(?:10|22|28|3b|42)-[0-9a-f]{12}$/;
const SOURCE = 'w1:';
const BULK = 'therm_bulk_read';
/** Smallest number of probes for a bulk conversion. With one probe, it would save no time. */
const BULK_FROM = 2;
const BULK_LOOKS = 20;
const BULK_LOOK_MS = 100;

/**
 * Reads temperature probes on 1-Wire (driver w1_therm). A conversion takes up to 750 ms. All probes of a bus convert at once if the driver
 * has `therm_bulk_read` and the hub may write it. Otherwise they convert one after the other.
 */
export class W1Source implements SensorSource {
  readonly name = 'w1';
  readonly #kernel: Sysfs;
  readonly #clock: Clock;
  readonly #locks = new Map<string, ReadLock>();
  readonly #lastCelsius = new Map<string, number>();

  constructor({ kernel, clock }: { readonly kernel: Sysfs; readonly clock: Clock }) {
    this.#kernel = kernel;
    this.#clock = clock;
  }

  async find(): Promise<readonly FoundSensor[]> {
    const names = await this.#kernel.list(DEVICES);
    return names.filter((name) => PROBE.test(name)).map(probe);
  }

  async read({ addresses, signal }: ReadRequest, onSample: SampleListener): Promise<void> {
    const located = await Promise.all(addresses.map(async (address) => ({ address, bus: await this.#busOf(address) })));
    const buses = [...Map.groupBy(located, ({ bus }) => bus)];
    const readings = buses.map(([bus, probes]) => {
      return this.#readBus(bus, { addresses: probes.map(({ address }) => address), signal }, onSample);
    });
    await Promise.all(readings);
  }

  async #readBus(bus: string, request: ReadRequest, onSample: SampleListener): Promise<void> {
    const lock = this.#locks.get(bus) ?? new ReadLock();
    this.#locks.set(bus, lock);
    if (request.addresses.length >= BULK_FROM && !lock.isTaken) await this.#convertAll(bus, lock, request.signal);
    await readInSequence(request, { lock, read: (address) => this.#readProbe(address) }, onSample);
  }

  /** Starts a bulk conversion and waits for its end. Ignores errors, since each probe can still be read separately. */
  async #convertAll(bus: string, lock: ReadLock, signal: AbortSignal): Promise<void> {
    const path = `${DEVICES}/${bus}/${BULK}`;
    if ((await this.#kernel.maybe(path)) === undefined) return;
    const convert = async () => {
      await this.#kernel.write(path, 'trigger\n');
      for (let look = 0; look < BULK_LOOKS && !signal.aborted && (await this.#kernel.maybe(path)) === '-1'; look++)
        await pause(this.#clock, BULK_LOOK_MS, signal);
    };
    await lock.run(convert, signal).catch(() => undefined);
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

/** Value in °C in the chip's memory before the first conversion (Maxim DS18B20, "Memory"). */
const POWER_ON = 85;
/** Value in °C of a conversion with too little current (Documentation/ABI/testing/sysfs-driver-w1_therm, features). */
const NO_POWER = 127.94;
/** Byte 6 of the memory before the first conversion (Documentation/w1/slaves/w1_therm.rst). */
const NO_CONVERSION = 0x0c;
/** A value of 85 °C counts as measured only if the previous value differs from it by at most this many °C. */
const NEAR_CELSIUS = 5;
/** Family code of thermocouples, whose range is greater than that of other chips. */
const THERMOCOUPLES = '3b';

interface ProbeContext {
  /** Family code: the first two digits of the id. */
  readonly family: string;
  /** The last accepted value, °C. */
  readonly lastCelsius?: number;
}

/**
 * Parses a temperature in °C (Documentation/w1/slaves/w1_therm.rst). The text is from `w1_slave` (two lines; the first ends in YES if the
 * checksum is right) or `temperature` (one line in millidegrees). An empty text means that a conversion is running.
 */
export function parseProbe(text: string, context: ProbeContext): ReadOutcome {
  if (text.trim() === '') return { fault: 'busy', detail: 'a conversion is running' };
  const [first = '', second = ''] = text.split('\n');
  if (!first.includes('crc=')) return checkedValue(kernelNumber(first), { ...context, memory: [] });
  // If the first line ends in NO, the second line still has the last correct value, which may be old.
  if (!first.endsWith('YES')) return { fault: 'garbled', detail: 'the checksum is wrong; look at the wires and the resistor' };
  const [bytes = ''] = first.split(' : ');
  const memory = bytes.split(' ').map((byte) => Number.parseInt(byte, 16));
  return checkedValue(kernelNumber(/t=(-?\d+)/.exec(second)?.[1]), { ...context, memory });
}

function checkedValue(
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
