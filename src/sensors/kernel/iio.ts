import { slug } from '../../core/ids.ts';
import { type FoundSensor, roundedValue } from '../sensor-source.ts';
import { KernelSource, kernelNumber, type ReadOutcome, scaled } from './sysfs.ts';

const DEVICES = 'bus/iio/devices';

interface IioLocation {
  readonly folder: string;
  readonly channel: Channel;
  readonly offset: number;
  readonly scale: number;
}

/**
 * Reads chips with a driver of the kernel's Industrial I/O, on I2C, SPI or the board itself. The number in a name such as `iio:device0`
 * changes from start to start. So a sensor's address contains the chip's name and bus address, but not this number.
 */
export class IioSource extends KernelSource {
  readonly name = 'iio';
  readonly #locations = new Map<string, IioLocation>();

  async find(): Promise<readonly FoundSensor[]> {
    const folders = (await this.kernel.list(DEVICES)).filter((name) => name.startsWith('iio:device'));
    const found = await Promise.all(folders.map((name) => this.#findChip(`${DEVICES}/${name}`)));
    return found.flat();
  }

  async #findChip(folder: string): Promise<readonly FoundSensor[]> {
    const chip = (await this.kernel.maybe(`${folder}/name`)) ?? 'chip';
    const place = (await this.kernel.placeOf(folder)).at(-2) ?? '';
    const attributes = await this.kernel.list(folder);
    const channels = channelsOf(attributes);
    return Promise.all(channels.map((channel) => this.#add({ folder, channel, attributes }, { chip, place })));
  }

  /** Adds a channel. Every search reads its scale and offset again, because they change with the range that programs set. */
  async #add(
    { folder, channel, attributes }: { folder: string; channel: Channel; attributes: readonly string[] },
    { chip, place }: { readonly chip: string; readonly place: string },
  ): Promise<FoundSensor> {
    const shared = async (name: 'offset' | 'scale', absent: number) => {
      const attribute = sharedAttributes(channel.channel, name).find((candidate) => attributes.includes(candidate));
      return attribute === undefined ? absent : (kernelNumber(await this.kernel.maybe(`${folder}/${attribute}`)) ?? absent);
    };
    const address = `iio:${chip}@${place}/${channel.channel}`;
    this.#locations.set(address, { folder, channel, offset: await shared('offset', 0), scale: await shared('scale', 1) });
    const label = await this.kernel.maybe(`${folder}/in_${channel.channel}_label`);
    return {
      address,
      device: slug(`${chip}-${place}`, '-') || 'chip',
      reading: channel.reading,
      kind: channel.kind,
      unit: channel.unit,
      title: `${chip} ${label ?? channel.reading.replaceAll('_', ' ')}`,
    };
  }

  /** Returns (raw + offset) × scale, as in Documentation/ABI/testing/sysfs-bus-iio, or the value that the chip itself has computed. */
  protected async readOne(address: string): Promise<ReadOutcome> {
    const location = this.#locations.get(address);
    if (!location) return { fault: 'gone', detail: 'is no channel that was found' };
    const { folder, channel, offset, scale } = location;
    const text = await this.kernel.text(`${folder}/in_${channel.channel}_${channel.isProcessed ? 'input' : 'raw'}`);
    if (channel.isProcessed) return scaled(text, channel.factor);
    const raw = scaled(text, 1);
    return 'value' in raw ? { value: roundedValue((Number(raw.value) + offset) * scale * channel.factor) } : raw;
  }
}

/** The quantity that a channel measures; `factor` converts the kernel's unit to the hub's unit. */
interface ChannelKind {
  readonly kind: string;
  readonly unit: string;
  readonly factor: number;
}

/** A channel of a chip. `channel` is its name in the attributes, such as `temp`, `voltage0` or `concentration_co2`. */
interface Channel extends ChannelKind {
  readonly channel: string;
  readonly reading: string;
  /** True if the chip computes the value itself. Then the hub applies neither offset nor scale. */
  readonly isProcessed: boolean;
}

const kindOf = (kind: string, unit: string, factor = 1): ChannelKind => ({ kind, unit, factor });

/** Quantities by channel type. `factor` converts the value after offset and scale (Documentation/ABI/testing/sysfs-bus-iio). */
const KINDS: Readonly<Record<string, ChannelKind>> = {
  temp: kindOf('temperature', '°C', 1e-3),
  humidityrelative: kindOf('humidity', '%', 1e-3),
  pressure: kindOf('pressure', 'hPa', 10),
  illuminance: kindOf('illuminance', 'lx'),
  intensity: kindOf('light_intensity', ''),
  proximity: kindOf('proximity', ''),
  distance: kindOf('distance', 'm'),
  voltage: kindOf('voltage', 'V', 1e-3),
  altvoltage: kindOf('voltage', 'V', 1e-3),
  current: kindOf('current', 'A', 1e-3),
  power: kindOf('power', 'W', 1e-3),
  energy: kindOf('energy', 'kWh', 1 / 3_600_000),
  resistance: kindOf('resistance', 'Ω'),
  capacitance: kindOf('capacitance', 'nF'),
  ph: kindOf('ph', ''),
  electricalconductivity: kindOf('conductivity', 'S/m'),
  massconcentration: kindOf('particles', 'µg/m³'),
  concentration: kindOf('concentration', '%'),
  accel: kindOf('acceleration', 'm/s²'),
  anglvel: kindOf('angular_velocity', 'rad/s'),
  magn: kindOf('magnetic_field', 'G'),
  angl: kindOf('angle', 'rad'),
};

/** Channels whose modifier, such as `co2`, is more specific than their type. The kinds are those of the capability files. */
const MODIFIED: Readonly<Record<string, ChannelKind>> = {
  concentration_co2: kindOf('co2', 'ppm', 1e4),
  concentration_voc: kindOf('tvoc', 'ppb', 1e7),
  massconcentration_pm1: kindOf('pm1', 'µg/m³'),
  massconcentration_pm2p5: kindOf('pm25', 'µg/m³'),
  massconcentration_pm10: kindOf('pm10', 'µg/m³'),
};

const ATTRIBUTE = /^in_([a-z]+)((?:\d+)?(?:-[a-z]+\d+)?(?:_[a-z0-9]+)?)_(raw|input)$/;

/** Returns the channels that the attributes of a chip describe. Ignores channels of unknown types. */
function channelsOf(attributes: readonly string[]): readonly Channel[] {
  const channels = attributes.flatMap((attribute) => {
    const [, type = '', rest = '', form] = ATTRIBUTE.exec(attribute) ?? [];
    const channel = type + rest;
    const modified = MODIFIED[channel];
    const known = modified ?? KINDS[type];
    if (!known) return [];
    return [{ ...known, channel, reading: slug(modified ? modified.kind : known.kind + rest, '_'), isProcessed: form === 'input' }];
  });
  // If a channel has a raw value and a value that the chip has computed, only the latter is used.
  return channels.filter(
    ({ channel, isProcessed }) => isProcessed || !channels.some((other) => other.channel === channel && other.isProcessed),
  );
}

/**
 * Returns the names of the attributes that may have a channel's offset or scale, the most specific first. An attribute may be for one
 * channel, all differential channels, all channels of a type, or all channels of a chip (Documentation/ABI/testing/sysfs-bus-iio).
 */
function sharedAttributes(channel: string, name: 'offset' | 'scale'): readonly string[] {
  const withoutNumbers = channel.replace(/\d+(?=$|-|_)/g, '');
  const type = /^[a-z]+/.exec(channel)?.[0] ?? '';
  return [...new Set([channel, withoutNumbers, type].map((part) => `in_${part}_${name}`)), `in_${name}`];
}
