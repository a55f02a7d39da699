import type { Clock } from '../../core/time/clock.ts';
import { pause } from '../../core/time/pause.ts';
import type { FoundSensor, ReadRequest, SampleListener, SensorSource } from '../sensor-source.ts';
import { type Outcome, readInLane } from './attribute-reader.ts';
import type { KernelFolder } from './kernel-folder.ts';
import { Lane } from './lane.ts';
import { parseProbe } from './w1-format.ts';

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
  readonly #kernel: KernelFolder;
  readonly #clock: Clock;
  readonly #lanes = new Map<string, Lane>();
  readonly #lastCelsius = new Map<string, number>();

  constructor({ kernel, clock }: { readonly kernel: KernelFolder; readonly clock: Clock }) {
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
    const lane = this.#lanes.get(bus) ?? new Lane();
    this.#lanes.set(bus, lane);
    if (request.addresses.length >= BULK_FROM && !lane.isTaken) await this.#convertAll(bus, lane, request.signal);
    await readInLane(request, { lane, read: (address) => this.#readProbe(address) }, hear);
  }

  /** Whatever hinders it, each probe can still be asked alone. */
  async #convertAll(bus: string, lane: Lane, signal: AbortSignal): Promise<void> {
    const path = `${DEVICES}/${bus}/${BULK}`;
    if ((await this.#kernel.maybe(path)) === undefined) return;
    const convert = async () => {
      await this.#kernel.write(path, 'trigger\n');
      for (let look = 0; look < BULK_LOOKS && !signal.aborted && (await this.#kernel.maybe(path)) === '-1'; look++)
        await pause(this.#clock, BULK_LOOK_MS, signal);
    };
    await lane.run(convert, signal).catch(() => undefined);
  }

  async #readProbe(address: string): Promise<Outcome> {
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
