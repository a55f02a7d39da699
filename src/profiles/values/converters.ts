import { snakeCase } from '../../core/devices/matter-names.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import { plain } from '../../core/untrusted-text.ts';
import { type Choice, type ConversionContext, type Converter, enumNames, numberOf, propertiesOf, rawBounds } from './converter.ts';

/** Converts enum names: `EmergencyHeat` ↔ `emergency_heat`. A number without a name becomes `value_<n>`. */
const enumConverter: Converter = {
  takes: ['enum'],
  toHuman: (raw, context) => (typeof raw === 'string' ? wordOf(raw, context) : `value_${String(raw)}`),
  toRaw: (human, context) => {
    const names = enumNames(context.schema);
    const name =
      names.find((one) => wordOf(one, context) === human) ?? names.find((one) => isFormer(one, context) && snakeCase(one) === human);
    return name ?? noSuchName(human, wordsOf(context));
  },
  schema: (context) => {
    const former = enumNames(context.schema).filter((name) => isFormer(name, context));
    return { type: 'string', enum: wordsOf(context), ...(former.length > 0 && { 'x-also': [{ enum: former.map(snakeCase) }] }) };
  },
};

/** Returns whether a profile has renamed this name; callers may still use the Matter name. */
function isFormer(name: string, context: ConversionContext): boolean {
  return wordOf(name, context) !== snakeCase(name);
}

function wordOf(name: string, { rename = {} }: ConversionContext): string {
  const plainName = snakeCase(name);
  return Object.hasOwn(rename, plainName) ? (rename[plainName] ?? plainName) : plainName;
}

function wordsOf(context: ConversionContext): readonly string[] {
  return enumNames(context.schema).map((name) => wordOf(name, context));
}

/** Converts a number to the device's own name for it. */
export const choiceConverter: Converter = {
  takes: ['integer', 'octets', 'text'],
  toHuman: (raw, { choices = [] }) => choices.find((choice) => choice.id === raw)?.name ?? `value_${String(raw)}`,
  toRaw: (human, { choices = [] }) => {
    const wanted = typeof human === 'string' ? snakeCase(human) : human;
    const fit = choices.find((choice) => choice.name === wanted);
    return fit === undefined ? choiceByNumber(human, choices) : fit.id;
  },
  schema: ({ choices = [] }) => (choices.length > 0 ? { type: 'string', enum: choices.map((choice) => choice.name) } : { type: 'string' }),
};

/** Converts a list of numbers to the device's own names for them. */
export const choicesConverter: Converter = {
  takes: ['list'],
  toHuman: (raw, context) => (raw as readonly Json[]).map((one) => choiceConverter.toHuman(one, context)),
  toRaw: (human, context) => (human as readonly Json[]).map((one) => choiceConverter.toRaw(one, context)),
  schema: (context) => ({ type: 'array', uniqueItems: true, maxItems: 255, items: choiceConverter.schema(context) }),
};

/** Converts one flag of a bitmap to a boolean. */
const flagConverter: Converter = {
  takes: ['bitmap'],
  toHuman: (raw, context) => memberOf(raw, context.member ?? '') === true,
  toRaw: (human, context) => ({ [schemaMember(context)]: human === true }),
  schema: () => ({ type: 'boolean' }),
};

const flagsConverter: Converter = {
  takes: ['bitmap'],
  toHuman: (raw) => Object.entries(raw as JsonObject).flatMap(([name, isSet]) => (isSet === true ? [snakeCase(name)] : [])),
  toRaw: (human, context) => {
    const names = human as readonly string[];
    return Object.fromEntries(flagNames(context).map((flag) => [flag, names.includes(snakeCase(flag))]));
  },
  schema: (context) => ({ type: 'array', uniqueItems: true, items: { type: 'string', enum: flagNames(context).map(snakeCase) } }),
};

/** Returns a member of a struct or bitmap by its name in any letter case; undefined if it is absent. */
export function memberOf(value: Json, name: string): Json | undefined {
  if (!isJsonObject(value)) return undefined;
  const wanted = name.toLowerCase();
  return Object.entries(value).find(([key]) => key.toLowerCase() === wanted)?.[1];
}

function choiceByNumber(human: Json, choices: readonly Choice[]): Json {
  // If the device lists no names, callers give the number in the form `value_3`.
  const number = /^value_(\d+)$/.exec(String(human))?.[1];
  if (number !== undefined && choices.length === 0) return Number(number);
  return noSuchName(
    human,
    choices.map((choice) => choice.name),
  );
}

function noSuchName(human: Json, names: readonly string[]): never {
  const known = names.length > 0 ? `one of ${names.join(', ')}` : 'a name that the device lists, or value_<number>';
  throw new AtmoError('VALIDATION_ERROR', `${JSON.stringify(human)} is not possible here; give ${known}`, { allowed: names });
}

function flagNames(context: ConversionContext): readonly string[] {
  return Object.entries(propertiesOf(context.schema)).flatMap(([name, member]) => (member.type === 'boolean' ? [name] : []));
}

function schemaMember(context: ConversionContext): string {
  const wanted = (context.member ?? '').toLowerCase();
  return flagNames(context).find((name) => name.toLowerCase() === wanted) ?? context.member ?? '';
}

interface Scale {
  readonly unit?: string;
  /** Number of decimals in the human value; 0 makes it an integer. */
  readonly decimals: number;
  /** Human limits that apply in addition to those of the type. For example, a percentage ends at 100. */
  readonly min?: number;
  readonly max?: number;
  human(raw: number): number;
  raw(human: number): number;
}

/** Returns a converter between numbers. Its schema allows a human value only if the raw form of the value is within the raw bounds. */
function numberConverter(scale: Scale): Converter {
  const round = (value: number): number => Number(value.toFixed(scale.decimals));
  return {
    ...(scale.unit !== undefined && { unit: scale.unit }),
    takes: ['integer', 'number'],
    toHuman: (raw) => round(scale.human(numberOf(raw))),
    toRaw: (human) => Math.round(scale.raw(human as number)),
    schema: (context) => ({ type: scale.decimals === 0 ? 'integer' : 'number', ...humanBounds(scale, context) }),
  };
}

/** Returns a converter that divides the raw value: 2150 hundredths become 21.5. */
function dividing(divisor: number, unit?: string): Converter {
  return numberConverter({
    ...(unit !== undefined && { unit }),
    decimals: Math.ceil(Math.log10(divisor)),
    human: (raw) => raw / divisor,
    raw: (human) => human * divisor,
  });
}

function humanBounds(scale: Scale, context: ConversionContext): JsonSchema {
  const raw = rawBounds(context);
  const ends = [scale.human(raw.min), scale.human(raw.max)].sort((a, b) => a - b);
  const [low = Number.NEGATIVE_INFINITY, high = Number.POSITIVE_INFINITY] = ends;
  const minimum = inward(Math.max(low, scale.min ?? low), 1, { scale, raw });
  const maximum = inward(Math.min(high, scale.max ?? high), -1, { scale, raw });
  return { ...(isSafe(minimum) && { minimum }), ...(isSafe(maximum) && { maximum }) };
}

/** Searches human values from `bound` in the given direction. Returns the first value that has an allowed raw form. */
function inward(bound: number, direction: 1 | -1, limits: { scale: Scale; raw: { min: number; max: number } }): number {
  if (!Number.isFinite(bound)) return bound;
  const { scale, raw } = limits;
  const step = 10 ** -scale.decimals;
  const start = direction === 1 ? Math.ceil(bound / step - 1e-6) : Math.floor(bound / step + 1e-6);
  for (let tries = 0; tries < 3; tries++) {
    const human = Number(((start + direction * tries) * step).toFixed(scale.decimals));
    const back = Math.round(scale.raw(human));
    if (back >= raw.min && back <= raw.max) return human;
  }
  return Number(bound.toFixed(scale.decimals));
}

function isSafe(bound: number): boolean {
  return Number.isFinite(bound) && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
}

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
  // A single-precision number has seven significant digits; more digits would be conversion noise.
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
  // The time is checked, because a device may report a time that Date cannot represent.
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

/** Every converter that profiles may name. `From a to b` means that Matter sends a, and people see b. */
export const CONVERTERS = {
  /** Leaves the value unchanged; lists and structs stay in raw form. */
  same,
  /** Leaves an integer unchanged. The schema has the bounds of the integer's type. */
  count,
  /** Rounds a measured number to seven digits. The schema has no bounds. */
  measured,
  /** From tenths to the unit. */
  deci: dividing(10),
  /** From hundredths to the unit. */
  centi: dividing(100),
  /** From thousandths to the unit. */
  milli: dividing(1000),
  /** From steps of 0.005 to the unit (PumpConfigurationAndControl.Capacity). */
  two_hundredths: dividing(200),
  /** From CIE 1931 x or y in steps of 1/65536 (Application Clusters §3.2.7.4) to a number from 0 to 1. */
  chromaticity: numberConverter({ decimals: 4, human: (raw) => raw / 65_536, raw: (human) => human * 65_536 }),
  /** From millionths to the unit, such as mWh to kWh. */
  micro: dividing(1_000_000),
  /** From 0.01 °C to °C (Core §7.19.2.6 `temperature`). */
  centi_celsius: dividing(100, '°C'),
  /** From 0.1 °C to °C (`SignedTemperature`). */
  deci_celsius: dividing(10, '°C'),
  /** From 0.1 s to seconds, for transition times (Application Clusters §1.6.7). */
  deciseconds: dividing(10, 's'),
  milliseconds: dividing(1000, 's'),
  minutes: numberConverter({ unit: 'min', decimals: 2, human: (raw) => raw / 60, raw: (human) => human * 60 }),
  /** From a level of 0 to 254 to percent: 102 becomes 40 % (LevelControl, saturation, volume). A level above 0 is at least 1 %. */
  level_percent: numberConverter({
    unit: '%',
    decimals: 0,
    min: 0,
    max: 100,
    human: (raw) => (raw > 0 ? Math.max((raw / 254) * 100, 1) : 0),
    raw: (human) => (human / 100) * 254,
  }),
  /** From steps of 0.5 % to percent (PowerSource.BatPercentRemaining). */
  half_percent: numberConverter({ unit: '%', decimals: 1, max: 100, human: (raw) => raw / 2, raw: (human) => human * 2 }),
  /** From 0.01 % to percent. */
  percent100ths: numberConverter({ unit: '%', decimals: 2, max: 100, human: (raw) => raw / 100, raw: (human) => human * 100 }),
  /** From percent closed, as in Matter (Application Clusters §5.3), to percent open: 0 becomes 100 %. */
  open_percent: numberConverter({ unit: '%', decimals: 0, min: 0, max: 100, human: (raw) => 100 - raw, raw: (human) => 100 - human }),
  open_percent100ths: numberConverter({
    unit: '%',
    decimals: 0,
    min: 0,
    max: 100,
    human: (raw) => (10_000 - raw) / 100,
    raw: (human) => 10_000 - human * 100,
  }),
  /** From mireds to kelvin: 10^6 / mireds. */
  kelvin: numberConverter({
    unit: 'K',
    decimals: 0,
    human: (raw) => (raw <= 0 ? 1_000_000 : 1_000_000 / raw),
    raw: (human) => 1_000_000 / Math.max(human, 1),
  }),
  /** From a raw hue (0–254) to degrees: 254 becomes 360°. */
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
  /** From 10,000·log10(lx)+1 to lux. A raw 0 means too dark to measure (Application Clusters §2.2.5.1). */
  illuminance: numberConverter({
    unit: 'lx',
    decimals: 1,
    human: (raw) => (raw === 0 ? 0 : 10 ** ((raw - 1) / 10_000)),
    raw: (human) => (human <= 0 ? 0 : Math.max(1, 10_000 * Math.log10(human) + 1)),
  }),
  /** Inverts a boolean. For example, Matter reports true for a closed contact, and people see false for `is_open`. */
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
  /** Converts the digits of a PIN to octets. People see a PIN from a device as `****`. */
  pin,
} as const satisfies Record<string, Converter>;

/** The names that `convert` may have in a capability file. */
export type ConverterName = keyof typeof CONVERTERS;

/** Returns the converter with the given name; throws CONFIG_INVALID if no converter has it. */
export function converterOf(name: string): Converter {
  if (name in CONVERTERS) return CONVERTERS[name as ConverterName];
  throw new AtmoError('CONFIG_INVALID', `No converter is called ${JSON.stringify(name)}; there are ${Object.keys(CONVERTERS).join(', ')}`);
}
