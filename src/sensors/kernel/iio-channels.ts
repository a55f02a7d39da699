import { slug } from '../../core/ids.ts';

/** What a channel measures, and what one of the kernel's units is in ours. */
export interface ChannelKind {
  readonly kind: string;
  readonly unit: string;
  readonly factor: number;
}

/** A channel of a chip as its attributes name it, such as `temp`, `voltage0` or `concentration_co2`. */
export interface Channel extends ChannelKind {
  readonly channel: string;
  readonly reading: string;
  /** The chip computes the value itself, so that neither offset nor scale apply. */
  readonly isProcessed: boolean;
}

const kindOf = (kind: string, unit: string, factor = 1): ChannelKind => ({ kind, unit, factor });

/** Kernel units of Documentation/ABI/testing/sysfs-bus-iio (after offset and scale), by the type of the channel. */
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

/** Channels whose modifier says more than their type, in the words of the capability files. */
const MODIFIED: Readonly<Record<string, ChannelKind>> = {
  concentration_co2: kindOf('co2', 'ppm', 1e4),
  concentration_voc: kindOf('tvoc', 'ppb', 1e7),
  massconcentration_pm1: kindOf('pm1', 'µg/m³'),
  massconcentration_pm2p5: kindOf('pm25', 'µg/m³'),
  massconcentration_pm10: kindOf('pm10', 'µg/m³'),
};

const ATTRIBUTE = /^in_([a-z]+)((?:\d+)?(?:-[a-z]+\d+)?(?:_[a-z0-9]+)?)_(raw|input)$/;

/** The channels that a chip's attributes show; those of a type that nobody knows are left out. */
export function channelsOf(attributes: readonly string[]): readonly Channel[] {
  const channels = attributes.flatMap((attribute) => {
    const [, type = '', rest = '', form] = ATTRIBUTE.exec(attribute) ?? [];
    const channel = type + rest;
    const modified = MODIFIED[channel];
    const known = modified ?? KINDS[type];
    if (!known) return [];
    return [{ ...known, channel, reading: slug(modified ? modified.kind : known.kind + rest, '_'), isProcessed: form === 'input' }];
  });
  // A chip with both computes better than we do.
  return channels.filter(
    ({ channel, isProcessed }) => isProcessed || !channels.some((other) => other.channel === channel && other.isProcessed),
  );
}

/**
 * Where `offset` and `scale` of a channel may stand, the nearest first: a chip shares them between channels of a type, or all
 * (Documentation/ABI/testing/sysfs-bus-iio). A difference shares them with other differences.
 */
export function sharedAttributes(channel: string, name: 'offset' | 'scale'): readonly string[] {
  const withoutNumbers = channel.replace(/\d+(?=$|-|_)/g, '');
  const type = /^[a-z]+/.exec(channel)?.[0] ?? '';
  return [...new Set([channel, withoutNumbers, type].map((part) => `in_${part}_${name}`)), `in_${name}`];
}
