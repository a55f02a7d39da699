import { slug } from '../../core/ids.ts';
import type { FoundSensor, ReadRequest, SampleListener, SensorSource } from '../sensor-source.ts';
import { type Outcome, readInLane, scaled } from './attribute-reader.ts';
import type { KernelFolder } from './kernel-folder.ts';
import { Lane } from './lane.ts';

const CLASS = 'class/thermal';
const ABSOLUTE_ZERO = -273.15;

/**
 * The kernel's thermal zones: how warm the board's own parts are (Documentation/ABI/testing/sysfs-class-thermal). Zones are known by
 * their type; those of one type, which nothing else tells apart, by their order.
 */
export class ThermalSource implements SensorSource {
  readonly name = 'thermal';
  readonly #kernel: KernelFolder;
  readonly #lane = new Lane();
  #folders: ReadonlyMap<string, string> = new Map();

  constructor({ kernel }: { readonly kernel: KernelFolder }) {
    this.#kernel = kernel;
  }

  async find(): Promise<readonly FoundSensor[]> {
    const zones = (await this.#kernel.list(CLASS)).filter((name) => /^thermal_zone\d+$/.test(name));
    const folders = new Map<string, string>();
    for (const zone of zones) {
      const type = (await this.#kernel.maybe(`${CLASS}/${zone}/type`)) ?? 'zone';
      const alike = [...folders.keys()].filter((known) => known === `thermal:${type}` || known.startsWith(`thermal:${type}@`)).length;
      folders.set(alike === 0 ? `thermal:${type}` : `thermal:${type}@${alike + 1}`, `${CLASS}/${zone}`);
    }
    this.#folders = folders;
    return [...folders.keys()].map(zoneOf);
  }

  async read(request: ReadRequest, hear: SampleListener): Promise<void> {
    await readInLane(request, { lane: this.#lane, read: (address) => this.#readZone(address) }, hear);
  }

  async #readZone(address: string): Promise<Outcome> {
    const folder = this.#folders.get(address);
    if (folder === undefined) return { fault: 'gone', detail: 'is no zone any more' };
    const outcome = scaled(await this.#kernel.text(`${folder}/temp`), 1e-3);
    // THERMAL_TEMP_INVALID of the kernel, -274000: no temperature yet.
    const isCold = 'value' in outcome && Number(outcome.value) < ABSOLUTE_ZERO;
    return isCold ? { fault: 'suspect', detail: 'the zone has no temperature yet' } : outcome;
  }
}

function zoneOf(address: string): FoundSensor {
  const type = address.slice('thermal:'.length);
  return {
    address,
    device: 'board',
    reading: slug(type, '-') || 'zone',
    kind: 'temperature',
    unit: '°C',
    deviceTitle: 'Board',
    title: `Board temperature ${type.replaceAll(/[-_@]/g, ' ')}`,
  };
}
