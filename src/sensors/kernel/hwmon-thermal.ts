import { slug } from '../../core/ids.ts';
import type { FoundSensor } from '../sensor-source.ts';
import { KernelSource, kernelNumber, type ReadOutcome, scaled } from './sysfs.ts';

const HWMON_CLASS = 'class/hwmon';
/** Devices that other sources already read: thermal zones and 1-Wire probes. A second read would make a probe convert again. */
const SHOWN_ELSEWHERE = /^(?:thermal_zone\d+|(?:10|22|28|3b|42)-[0-9a-f]{12})$/;

interface HwmonLocation {
  readonly folder: string;
  readonly channel: MonitorChannel;
}

/**
 * Reads hardware monitoring chips: temperatures, voltages, fans, and their alarms. The number in a name such as `hwmon0` changes from start
 * to start (Documentation/ABI/testing/sysfs-class-hwmon). So a chip's address contains the chip's name and its parent device instead.
 */
export class HwmonSource extends KernelSource {
  readonly name = 'hwmon';
  readonly #locations = new Map<string, HwmonLocation>();

  async find(): Promise<readonly FoundSensor[]> {
    const chips = await this.kernel.list(HWMON_CLASS);
    const found = await Promise.all(chips.map((name) => this.#findChip(`${HWMON_CLASS}/${name}`)));
    return found.flat();
  }

  async #findChip(folder: string): Promise<readonly FoundSensor[]> {
    const device = await this.kernel.nameBehind(`${folder}/device`);
    if (device !== undefined && SHOWN_ELSEWHERE.test(device)) return [];
    const name = (await this.kernel.maybe(`${folder}/name`)) ?? 'chip';
    const chip = device === undefined ? name : `${name}@${device}`;
    const channels = monitorChannels(await this.kernel.list(folder));
    return Promise.all(channels.map((channel) => this.#add({ folder, channel }, { chip, name })));
  }

  async #add(location: HwmonLocation, { chip, name }: { readonly chip: string; readonly name: string }): Promise<FoundSensor> {
    const { folder, channel } = location;
    const address = `hwmon:${chip}/${channel.channel}`;
    this.#locations.set(address, location);
    const [input = ''] = channel.channel.split('_');
    const label = await this.kernel.maybe(`${folder}/${input}_label`);
    return {
      address,
      device: slug(chip, '-') || 'chip',
      reading: channel.channel,
      kind: channel.kind,
      unit: channel.unit,
      title: `${name} ${label === undefined ? channel.channel : channel.channel.replace(input, label)}`.replaceAll('_', ' '),
    };
  }

  protected async readOne(address: string): Promise<ReadOutcome> {
    const location = this.#locations.get(address);
    if (!location) return { fault: 'gone', detail: 'is no channel that was found' };
    const { folder, channel } = location;
    // With this attribute, the chip reports that the channel's diode is open or shorted. The value is meaningless then.
    if ((await this.kernel.maybe(`${folder}/${channel.channel}_fault`)) === '1') {
      return { fault: 'suspect', detail: 'the chip reports a fault of this channel' };
    }
    const text = await this.kernel.text(`${folder}/${channel.attribute}`);
    return channel.factor === undefined ? { value: kernelNumber(text) === 1 } : scaled(text, channel.factor);
  }
}

/** A channel of a monitoring chip, such as `temp1`, `in0` or `fan2`. `attribute` is the name of the file with the channel's value. */
interface MonitorChannel {
  readonly channel: string;
  readonly attribute: string;
  readonly kind: string;
  readonly unit: string;
  /** Factor from the kernel's unit to the hub's unit; absent for an alarm, which is 0 or 1. */
  readonly factor?: number;
}

/** Quantities by channel type. `factor` converts the kernel's unit (Documentation/hwmon/sysfs-interface.rst) to the hub's unit. */
const KINDS: Readonly<Record<string, { readonly kind: string; readonly unit: string; readonly factor: number }>> = {
  temp: { kind: 'temperature', unit: '°C', factor: 1e-3 },
  in: { kind: 'voltage', unit: 'V', factor: 1e-3 },
  curr: { kind: 'current', unit: 'A', factor: 1e-3 },
  power: { kind: 'power', unit: 'W', factor: 1e-6 },
  energy: { kind: 'energy', unit: 'kWh', factor: 1 / 3.6e12 },
  humidity: { kind: 'humidity', unit: '%', factor: 1e-3 },
  fan: { kind: 'fan_speed', unit: 'rpm', factor: 1 },
};

const VALUE = /^((temp|in|curr|power|energy|humidity|fan)\d+)_input$/;
/** Matches the alarm of a limit that the chip itself monitors. On a Raspberry Pi, `in0_lcrit_alarm` means undervoltage. */
const ALARM = /^((?:temp|in|curr|power|humidity|fan)\d+(?:_[a-z]+)?_alarm)$/;

function monitorChannels(attributes: readonly string[]): readonly MonitorChannel[] {
  return attributes.flatMap((attribute): readonly MonitorChannel[] => {
    const [, channel, type = ''] = VALUE.exec(attribute) ?? [];
    const known = KINDS[type];
    if (channel !== undefined && known) return [{ channel, attribute, ...known }];
    const [, alarm] = ALARM.exec(attribute) ?? [];
    return alarm === undefined ? [] : [{ channel: alarm, attribute, kind: 'alarm', unit: '' }];
  });
}

const THERMAL_CLASS = 'class/thermal';
const ABSOLUTE_ZERO = -273.15;

/**
 * Reads the kernel's thermal zones: temperatures of the board's components (Documentation/ABI/testing/sysfs-class-thermal). A zone's
 * address contains its type. Further zones of the same type also get a number, since nothing else distinguishes them.
 */
export class ThermalSource extends KernelSource {
  readonly name = 'thermal';
  #folders: ReadonlyMap<string, string> = new Map();

  async find(): Promise<readonly FoundSensor[]> {
    const zones = (await this.kernel.list(THERMAL_CLASS)).filter((name) => /^thermal_zone\d+$/.test(name));
    const folders = new Map<string, string>();
    for (const zone of zones) {
      const type = (await this.kernel.maybe(`${THERMAL_CLASS}/${zone}/type`)) ?? 'zone';
      const alike = [...folders.keys()].filter((known) => known === `thermal:${type}` || known.startsWith(`thermal:${type}@`)).length;
      folders.set(alike === 0 ? `thermal:${type}` : `thermal:${type}@${alike + 1}`, `${THERMAL_CLASS}/${zone}`);
    }
    this.#folders = folders;
    return [...folders.keys()].map(zoneOf);
  }

  protected async readOne(address: string): Promise<ReadOutcome> {
    const folder = this.#folders.get(address);
    if (folder === undefined) return { fault: 'gone', detail: 'is no zone any more' };
    const outcome = scaled(await this.kernel.text(`${folder}/temp`), 1e-3);
    // The kernel's THERMAL_TEMP_INVALID (-274000) means that the zone has no temperature yet.
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
