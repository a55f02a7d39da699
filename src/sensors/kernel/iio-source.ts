import { slug } from '../../core/ids.ts';
import { tidy } from '../calibration.ts';
import type { FoundSensor, ReadRequest, SampleListener, SensorSource } from '../sensor-source.ts';
import { kernelNumber, type Outcome, readInLane, scaled } from './attribute-reader.ts';
import { type Channel, channelsOf, sharedAttributes } from './iio-channels.ts';
import type { KernelFolder } from './kernel-folder.ts';
import { Lane } from './lane.ts';

const DEVICES = 'bus/iio/devices';

interface Place {
  readonly folder: string;
  readonly channel: Channel;
  readonly offset: number;
  readonly scale: number;
}

/**
 * Chips with a driver of the kernel's Industrial I/O, on I2C, SPI or the board itself. The number of `iio:device0` changes from start to
 * start, so a chip is known by its name and where it sits.
 */
export class IioSource implements SensorSource {
  readonly name = 'iio';
  readonly #kernel: KernelFolder;
  readonly #lane = new Lane();
  readonly #places = new Map<string, Place>();

  constructor({ kernel }: { readonly kernel: KernelFolder }) {
    this.#kernel = kernel;
  }

  async find(): Promise<readonly FoundSensor[]> {
    const folders = (await this.#kernel.list(DEVICES)).filter((name) => name.startsWith('iio:device'));
    const found = await Promise.all(folders.map((name) => this.#findChip(`${DEVICES}/${name}`)));
    return found.flat();
  }

  async read(request: ReadRequest, hear: SampleListener): Promise<void> {
    await readInLane(request, { lane: this.#lane, read: (address) => this.#readChannel(this.#places.get(address)) }, hear);
  }

  async #findChip(folder: string): Promise<readonly FoundSensor[]> {
    const chip = (await this.#kernel.maybe(`${folder}/name`)) ?? 'chip';
    const place = (await this.#kernel.placeOf(folder)).at(-2) ?? '';
    const attributes = await this.#kernel.list(folder);
    const channels = channelsOf(attributes);
    return Promise.all(channels.map((channel) => this.#admit({ folder, channel, attributes }, { chip, place })));
  }

  /** Scale and offset are looked up anew with each look around: they go with the range that somebody may set. */
  async #admit(
    { folder, channel, attributes }: { folder: string; channel: Channel; attributes: readonly string[] },
    { chip, place }: { readonly chip: string; readonly place: string },
  ): Promise<FoundSensor> {
    const shared = async (name: 'offset' | 'scale', absent: number) => {
      const attribute = sharedAttributes(channel.channel, name).find((candidate) => attributes.includes(candidate));
      return attribute === undefined ? absent : (kernelNumber(await this.#kernel.maybe(`${folder}/${attribute}`)) ?? absent);
    };
    const address = `iio:${chip}@${place}/${channel.channel}`;
    this.#places.set(address, { folder, channel, offset: await shared('offset', 0), scale: await shared('scale', 1) });
    const label = await this.#kernel.maybe(`${folder}/in_${channel.channel}_label`);
    return {
      address,
      device: slug(`${chip}-${place}`, '-') || 'chip',
      reading: channel.reading,
      kind: channel.kind,
      unit: channel.unit,
      title: `${chip} ${label ?? channel.reading.replaceAll('_', ' ')}`,
    };
  }

  /** (raw + offset) × scale, Documentation/ABI/testing/sysfs-bus-iio. */
  async #readChannel(place: Place | undefined): Promise<Outcome> {
    if (!place) return { fault: 'gone', detail: 'is no channel that was found' };
    const { folder, channel, offset, scale } = place;
    const text = await this.#kernel.text(`${folder}/in_${channel.channel}_${channel.isProcessed ? 'input' : 'raw'}`);
    if (channel.isProcessed) return scaled(text, channel.factor);
    const raw = scaled(text, 1);
    return 'value' in raw ? { value: tidy((Number(raw.value) + offset) * scale * channel.factor) } : raw;
  }
}
