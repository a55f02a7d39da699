import { AtmoError } from '../../core/errors.ts';
import { plain } from '../../core/foreign-text.ts';
import { type Converter, numberOf, rawBounds } from './converter.ts';
import { choiceConverter, choicesConverter, enumConverter, flagConverter, flagsConverter } from './name-converters.ts';
import { dividing, numberConverter } from './number-converter.ts';

const same: Converter = {
  takes: ['boolean', 'integer', 'number', 'text', 'octets', 'list', 'struct', 'any'],
  toHuman: (raw) => (typeof raw === 'string' && /^-?\d{16,}$/.test(raw) ? Number(raw) : raw),
  toRaw: (human) => human,
  schema: ({ schema }) => Object.fromEntries(Object.entries(schema).filter(([key]) => key !== 'description')),
};

const count: Converter = {
  takes: ['integer'],
  toHuman: (raw) => numberOf(raw),
  toRaw: (human) => human,
  schema: (context) => {
    const { min, max } = rawBounds(context);
    return { type: 'integer', ...(Number.isFinite(min) && { minimum: min }), ...(Number.isFinite(max) && { maximum: max }) };
  },
};

const measured: Converter = {
  takes: ['integer', 'number'],
  // A single-precision value has seven digits; more would be noise of the conversion.
  toHuman: (raw) => Number(numberOf(raw).toPrecision(7)),
  toRaw: (human) => human,
  schema: () => ({ type: 'number' }),
};

const inverted: Converter = {
  takes: ['boolean'],
  toHuman: (raw) => raw !== true,
  toRaw: (human) => human !== true,
  schema: () => ({ type: 'boolean' }),
};

const text: Converter = {
  takes: ['text'],
  toHuman: (raw) => plain(String(raw)),
  toRaw: (human) => human,
  schema: ({ schema }) => ({ type: 'string', ...(typeof schema.maxLength === 'number' && { maxLength: schema.maxLength }) }),
};

const time = (perSecond: number): Converter => ({
  takes: ['integer'],
  // What a device tells may lie beyond the end of all calendars.
  toHuman: (raw) => {
    const at = new Date((numberOf(raw) / perSecond) * 1000);
    return Number.isNaN(at.getTime()) ? null : at.toISOString();
  },
  toRaw: (human) => Math.round((Date.parse(String(human)) / 1000) * perSecond),
  schema: () => ({ type: 'string', format: 'date-time' }),
});

const pin: Converter = {
  takes: ['octets'],
  toHuman: () => '****',
  toRaw: (human) => Buffer.from(String(human), 'utf8').toString('base64'),
  schema: () => ({ type: 'string', pattern: '^[0-9]{1,16}$', 'x-secret': true }),
};

/** Every conversion that profiles may name. Matter sends the left side of each pair, people see the right one. */
export const CONVERTERS = {
  /** Unchanged, lists and structs in their raw form. */
  same,
  /** Whole number, unchanged, with the type's bounds. */
  count,
  /** Measured number, unchanged, without bounds. */
  measured,
  /** Tenths. */
  deci: dividing(10),
  /** Hundredths. */
  centi: dividing(100),
  /** Thousandths. */
  milli: dividing(1000),
  /** Steps of 0.005 (PumpConfigurationAndControl.Capacity). */
  two_hundredths: dividing(200),
  /** 1/65536 of CIE 1931 x and y (Application Clusters §3.2.7.4). */
  chromaticity: numberConverter({ decimals: 4, human: (raw) => raw / 65_536, raw: (human) => human * 65_536 }),
  /** Millionths: mWh to kWh. */
  micro: dividing(1_000_000),
  /** 0.01 °C (Core §7.19.2.6 `temperature`). */
  centi_celsius: dividing(100, '°C'),
  /** 0.1 °C (`SignedTemperature`). */
  deci_celsius: dividing(10, '°C'),
  /** 0.1 s transition times (Application Clusters §1.6.7). */
  deciseconds: dividing(10, 's'),
  milliseconds: dividing(1000, 's'),
  minutes: numberConverter({ unit: 'min', decimals: 2, human: (raw) => raw / 60, raw: (human) => human * 60 }),
  /** 1..254 to percent of 254: 40 % is 102 (LevelControl, saturation, volume). The lowest level is 1 %: 0 % is nothing at all. */
  level_percent: numberConverter({
    unit: '%',
    decimals: 0,
    min: 0,
    max: 100,
    human: (raw) => (raw > 0 ? Math.max((raw / 254) * 100, 1) : 0),
    raw: (human) => (human / 100) * 254,
  }),
  /** 0.5 % steps (PowerSource.BatPercentRemaining). */
  half_percent: numberConverter({ unit: '%', decimals: 1, max: 100, human: (raw) => raw / 2, raw: (human) => human * 2 }),
  /** 0.01 % to percent. */
  percent100ths: numberConverter({ unit: '%', decimals: 2, max: 100, human: (raw) => raw / 100, raw: (human) => human * 100 }),
  /** Matter counts how far a cover is closed (Application Clusters §5.3); people how far it is open: open 100 % is 0. */
  open_percent: numberConverter({ unit: '%', decimals: 0, min: 0, max: 100, human: (raw) => 100 - raw, raw: (human) => 100 - human }),
  open_percent100ths: numberConverter({
    unit: '%',
    decimals: 0,
    min: 0,
    max: 100,
    human: (raw) => (10_000 - raw) / 100,
    raw: (human) => 10_000 - human * 100,
  }),
  /** Mireds to kelvin: 10^6 divided either way. */
  kelvin: numberConverter({
    unit: 'K',
    decimals: 0,
    human: (raw) => (raw <= 0 ? 1_000_000 : 1_000_000 / raw),
    raw: (human) => 1_000_000 / Math.max(human, 1),
  }),
  /** 0..254 to 0..360 degrees. */
  hue_degrees: numberConverter({
    unit: '°',
    decimals: 0,
    min: 0,
    max: 360,
    human: (raw) => (raw * 360) / 254,
    raw: (human) => (human * 254) / 360,
  }),
  enhanced_hue_degrees: numberConverter({
    unit: '°',
    decimals: 0,
    min: 0,
    max: 359,
    human: (raw) => (raw * 360) / 65_536,
    raw: (human) => (human * 65_536) / 360,
  }),
  /** 10,000·log10(lx)+1; 0 means too dark to measure (Application Clusters §2.2.5.1). */
  illuminance: numberConverter({
    unit: 'lx',
    decimals: 1,
    human: (raw) => (raw === 0 ? 0 : 10 ** ((raw - 1) / 10_000)),
    raw: (human) => (human <= 0 ? 0 : Math.max(1, 10_000 * Math.log10(human) + 1)),
  }),
  /** true ↔ false: a contact that Matter calls true is closed. */
  not: inverted,
  enum: enumConverter,
  choice: choiceConverter,
  choices: choicesConverter,
  flag: flagConverter,
  flags: flagsConverter,
  text,
  /** Seconds since 1970 to ISO 8601. */
  time: time(1),
  /** Microseconds since 1970 to ISO 8601. */
  time_micro: time(1_000_000),
  /** Digits to octets; never shown again. */
  pin,
} as const satisfies Record<string, Converter>;

/** What `converter` of a capability file may name. */
export type ConverterName = keyof typeof CONVERTERS;

/** The converter of that name; CONFIG_INVALID for an unknown one. */
export function converterOf(name: string): Converter {
  if (name in CONVERTERS) return CONVERTERS[name as ConverterName];
  throw new AtmoError('CONFIG_INVALID', `No converter is called ${JSON.stringify(name)}; there are ${Object.keys(CONVERTERS).join(', ')}`);
}
