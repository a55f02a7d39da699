import type { Json } from '../json.ts';

/** Returns the words of a Matter name in snake_case: `rvc_operational_state` for `RvcOperationalState`, `pm25` for `PM25`. */
export function snakeCase(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
}

/** Pattern of a manufacturer-specific element without a name. Its number is a 16-bit prefix and a 16-bit suffix in hex (Core §7.18.2). */
const UNNAMED = /^(Cluster|Attr)0x([0-9a-f]{1,8})$/;
/** Lowest suffix of manufacturer-specific clusters (Core §7.18.2.3). */
const FIRST_VENDOR_CLUSTER = 0xfc00;

/** Returns a name like `snakeCase`. If the element has no name, its number is used: `vendor_1` for `Cluster0xfff1fc01`. */
export function readableName(name: string): string {
  const { kind, id = 0 } = unnamed(name) ?? {};
  if (kind === undefined) return snakeCase(name);
  const own = id % 0x1_0000;
  if (kind === 'Attr') return `attribute_${own}`;
  return own >= FIRST_VENDOR_CLUSTER ? `vendor_${own - FIRST_VENDOR_CLUSTER}` : `cluster_${own}`;
}

/** Returns a name like `readableName` that also contains the manufacturer's number: `vendor_65521_1`. Used if two names would be equal. */
export function readableNameWithVendor(name: string): string {
  const { kind, id = 0 } = unnamed(name) ?? {};
  const [first, ...rest] = readableName(name).split('_');
  return kind === undefined ? snakeCase(name) : [first, Math.floor(id / 0x1_0000), ...rest].join('_');
}

function unnamed(name: string): { readonly kind: string; readonly id: number } | undefined {
  const [, kind, hex = ''] = UNNAMED.exec(name) ?? [];
  return kind === undefined ? undefined : { kind, id: Number.parseInt(hex, 16) };
}

/** Joins two names. Words that end the first and begin the second appear once: `account_login` for `account_login` and `login`. */
export function joinNames(first: string, second: string): string {
  const [before, after] = [first.split('_'), second.split('_')];
  const repeated = after.findLastIndex((_, at) => before.slice(-at - 1).join('_') === after.slice(0, at + 1).join('_'));
  return [...before, ...after.slice(repeated + 1)].join('_');
}

/** Returns the words of a Matter name: `on off light` for `OnOffLight`. */
export function readableWords(name: string): string {
  return readableName(name).replaceAll('_', ' ');
}

/** Returns a value for people: `yes` for true, and the words of a text as `readableWords` returns them. */
export function readableValue(value: Json): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'string' ? readableWords(value) : String(value);
}

/**
 * The current words for former words of device values. Rules, grants, automations and calls may still contain a former word. For values
 * that devices report, `rename` in device-profiles does the same.
 */
export const VALUE_ALIASES: Readonly<Record<string, string>> = {
  is_charging: 'charging',
  is_not_charging: 'not_charging',
  is_at_full_charge: 'full',
  move_to_fully_closed: 'closed',
  move_to_fully_open: 'open',
  move_to_pedestrian_position: 'pedestrian',
  move_to_ventilation_position: 'ventilation',
  move_to_signature_position: 'signature',
  current_hue_and_current_saturation: 'hue_and_saturation',
  current_x_and_current_y: 'chromaticity',
  color_temperature_mireds: 'color_temperature',
  setpoint_hold_on: 'on',
  setpoint_hold_off: 'off',
  no_lockout: 'unlocked',
  lockout1: 'level_1',
  lockout2: 'level_2',
  lockout3: 'level_3',
  lockout4: 'level_4',
  lockout5: 'level_5',
  numbers1: '1',
  numbers2: '2',
  numbers3: '3',
  numbers4: '4',
  numbers5: '5',
  numbers6: '6',
  numbers7: '7',
  numbers8: '8',
  numbers9: '9',
  number11: '11',
  number12: '12',
  number0_or_number10: '0',
  f1_blue: 'blue',
  f2_red: 'red',
  f3_green: 'green',
  f4_yellow: 'yellow',
};

/** Returns the current word for a former word, in whatever letter case it is. Returns any other text in lower case. */
export function canonicalValue(text: string): string {
  const word = text.toLowerCase();
  return Object.hasOwn(VALUE_ALIASES, word) ? (VALUE_ALIASES[word] ?? word) : word;
}

/** Returns a value with its unit, such as `61 lx`. */
export function amount(value: Json, unit: Json | undefined): string {
  return typeof value === 'number' && typeof unit === 'string' && unit !== '' ? `${value} ${unit}` : readableValue(value);
}

/** Values that people call on and off. */
const SWITCHED: readonly string[] = ['is on', 'on off'];

/** Returns whether people call a value of this name on and off, such as `is_on` or `OnOff`. */
export function isSwitched(name: string): boolean {
  return SWITCHED.includes(readableWords(name));
}
