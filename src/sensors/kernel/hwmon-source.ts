import { slug } from '../../core/ids.ts';
import type { FoundSensor, ReadRequest, SampleListener, SensorSource } from '../sensor-source.ts';
import { kernelNumber, type Outcome, readInLane, scaled } from './attribute-reader.ts';
import { type MonitorChannel, monitorChannels } from './hwmon-channels.ts';
import type { KernelFolder } from './kernel-folder.ts';
import { Lane } from './lane.ts';

const CLASS = 'class/hwmon';
/** What the kernel shows a second time: thermal zones, and probes on 1-Wire, which would convert twice. */
const SHOWN_ELSEWHERE = /^(?:thermal_zone\d+|(?:10|22|28|3b|42)-[0-9a-f]{12})$/;

interface Place {
  readonly folder: string;
  readonly channel: MonitorChannel;
}

/**
 * Monitoring chips: temperatures, voltages, fans, and alarms that they raise themselves. The number of `hwmon0` changes from start to
 * start (Documentation/ABI/testing/sysfs-class-hwmon), so a chip is known by its name and by the device that it belongs to.
 */
export class HwmonSource implements SensorSource {
  readonly name = 'hwmon';
  readonly #kernel: KernelFolder;
  readonly #lane = new Lane();
  readonly #places = new Map<string, Place>();

  constructor({ kernel }: { readonly kernel: KernelFolder }) {
    this.#kernel = kernel;
  }

  async find(): Promise<readonly FoundSensor[]> {
    const chips = await this.#kernel.list(CLASS);
    const found = await Promise.all(chips.map((name) => this.#findChip(`${CLASS}/${name}`)));
    return found.flat();
  }

  async read(request: ReadRequest, hear: SampleListener): Promise<void> {
    await readInLane(request, { lane: this.#lane, read: (address) => this.#readChannel(this.#places.get(address)) }, hear);
  }

  async #findChip(folder: string): Promise<readonly FoundSensor[]> {
    const place = await this.#kernel.nameBehind(`${folder}/device`);
    if (place !== undefined && SHOWN_ELSEWHERE.test(place)) return [];
    const name = (await this.#kernel.maybe(`${folder}/name`)) ?? 'chip';
    const chip = place === undefined ? name : `${name}@${place}`;
    const channels = monitorChannels(await this.#kernel.list(folder));
    return Promise.all(channels.map((channel) => this.#admit({ folder, channel }, { chip, name })));
  }

  async #admit(place: Place, { chip, name }: { readonly chip: string; readonly name: string }): Promise<FoundSensor> {
    const { folder, channel } = place;
    const address = `hwmon:${chip}/${channel.channel}`;
    this.#places.set(address, place);
    const [input = ''] = channel.channel.split('_');
    const label = await this.#kernel.maybe(`${folder}/${input}_label`);
    return {
      address,
      device: slug(chip, '-') || 'chip',
      reading: channel.channel,
      kind: channel.kind,
      unit: channel.unit,
      title: `${name} ${label === undefined ? channel.channel : channel.channel.replace(input, label)}`.replaceAll('_', ' '),
    };
  }

  async #readChannel(place: Place | undefined): Promise<Outcome> {
    if (!place) return { fault: 'gone', detail: 'is no channel that was found' };
    const { folder, channel } = place;
    // A chip says so when the diode of a channel is open or shorted; its value is then any number.
    if ((await this.#kernel.maybe(`${folder}/${channel.channel}_fault`)) === '1') {
      return { fault: 'suspect', detail: 'the chip reports a fault of this channel' };
    }
    const text = await this.#kernel.text(`${folder}/${channel.attribute}`);
    return channel.factor === undefined ? { value: kernelNumber(text) === 1 } : scaled(text, channel.factor);
  }
}
