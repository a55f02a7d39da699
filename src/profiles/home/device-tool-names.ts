import { createHash } from 'node:crypto';
import type { Device } from '../../core/devices/device-model.ts';
import { type DeviceId, slug } from '../../core/ids.ts';

/** Maximum length of a tool name. All servers of language models accept this length. */
export const NAME_LIMIT = 40;
const MIN_DEVICE_PART = 10;
/** Minimum length of a prefix. People would not recognise the device in a shorter prefix. */
const MIN_PREFIX = 6;
const HASH_LENGTH = 6;

/** Returns the prefix made from the device's name, or from its id if the name has no Latin letters or digits. It may already be taken. */
export function plainPrefix(device: Device): string {
  return plainText(device.name) ?? plainText(device.id) ?? 'device';
}

/** Returns a text as a prefix of tool names; undefined for a text without Latin letters or digits. */
export function plainText(text: string): string | undefined {
  const plain = slug(text, '_').replace(/_+/g, '_');
  if (plain === '') return undefined;
  return /^[a-z]/.test(plain) ? plain : `device_${plain}`;
}

/**
 * Returns devices in the order in which they take names if several appear at once. Devices that a person named come first. Among equals, a
 * device whose id equals its name comes first, then the device with the lowest id.
 */
export function byRightToName(devices: readonly Device[]): readonly Device[] {
  const ranks = new Map(devices.map((device) => [device, rank(device, plainPrefix(device))]));
  return devices.toSorted((a, b) => (ranks.get(a) ?? '').localeCompare(ranks.get(b) ?? '', 'en'));
}

/**
 * Returns `<prefix>_<action>`, at most 40 characters. A longer name loses words in the middle of the prefix. Words that distinguish it from
 * the prefixes in `others` are lost last. If the action leaves no space for the device, the name ends in a hash of the whole name.
 */
export function toolName(prefix: string, action: string, others: readonly string[] = []): string {
  const whole = `${prefix}_${action}`;
  if (whole.length <= NAME_LIMIT) return whole;
  const room = NAME_LIMIT - action.length - 1;
  return room < MIN_PREFIX ? hashedName(prefix, action) : `${shortened(prefix, room, others)}_${action}`;
}

/** Returns the prefix that older hub versions gave to the second of two devices with the same name. Chance decided which was second. */
export function unclaimedSecondPrefix(device: Device): string {
  return `${plainPrefix(device)}_${hash(device.id)}`;
}

/**
 * Returns the prefixes that older hub versions, which stored no names, gave to devices. Of devices with the same name, the first has the
 * plain prefix, and the others have a hash of their id after it. Only state directories of those versions contain such prefixes.
 */
export function unclaimedPrefixes(devices: readonly Device[]): ReadonlyMap<DeviceId, string> {
  const groups = Map.groupBy(byRightToName(devices), plainPrefix);
  const prefixes = [...groups].flatMap(([plain, group]) =>
    group.map((device, index): [DeviceId, string] => [device.id, index === 0 ? plain : unclaimedSecondPrefix(device)]),
  );
  return new Map(prefixes);
}

/** Returns a tool name as older hub versions made it. A name that is too long has a shortened prefix and ends in a hash. */
export function unclaimedToolName(prefix: string, action: string): string {
  const whole = `${prefix}_${action}`;
  return whole.length <= NAME_LIMIT ? whole : hashedName(prefix, action);
}

function shortened(prefix: string, room: number, others: readonly string[]): string {
  const plain = fitting(prefix, endsFirst, room);
  const rivals = others.filter((other) => other !== prefix && fitting(other, endsFirst, room) === plain);
  if (rivals.length === 0) return plain;
  const known = rivals.map((rival) => new Set(rival.split('_')));
  return fitting(prefix, (words) => tellingFirst(words, (word) => known.some((other) => !other.has(word))), room);
}

/** Returns the words of a prefix that fit into `room` characters. `order` returns the indexes of the words, the most important first. */
function fitting(prefix: string, order: (words: readonly string[]) => readonly number[], room: number): string {
  const words = prefix.split('_');
  const kept = new Set<number>();
  let length = -1;
  for (const index of order(words)) {
    const wordLength = words[index]?.length ?? 0;
    if (length + 1 + wordLength > room) continue;
    kept.add(index);
    length += 1 + wordLength;
  }
  const hasBothEnds = kept.has(0) && kept.has(words.length - 1);
  return hasBothEnds ? words.filter((_, index) => kept.has(index)).join('_') : cutEnds(words, room);
}

/** Returns the first and the last word, shortened to fit into `room` characters. Used if the whole words do not fit. */
function cutEnds(words: readonly string[], room: number): string {
  const [first = '', last = ''] = words.length === 1 ? [words[0]] : [words[0], words.at(-1)];
  if (last === '') return first.slice(0, room);
  const tail = last.slice(0, Math.max(Math.floor((room - 1) / 2), room - 1 - first.length));
  return `${first.slice(0, room - 1 - tail.length)}_${tail}`;
}

/** Returns the indexes of the words by importance: first, last, second, last but one. People recognise a name by its ends. */
function endsFirst(words: readonly string[]): readonly number[] {
  const order: number[] = [];
  for (let [from, to] = [0, words.length - 1]; from <= to; from++, to--) order.push(...(from === to ? [from] : [from, to]));
  return order;
}

function tellingFirst(words: readonly string[], tells: (word: string) => boolean): readonly number[] {
  const order = endsFirst(words);
  const ends = order.slice(0, 2);
  const inner = order.slice(2);
  const telling = inner.filter((index) => tells(words[index] ?? ''));
  return [...ends, ...telling, ...inner.filter((index) => !telling.includes(index))];
}

/** Returns a name that ends in a hash of the whole name. It is used if the name is too long, or if too many tools share it. */
export function hashedName(prefix: string, action: string): string {
  const room = NAME_LIMIT - HASH_LENGTH - 1;
  const device = prefix.slice(0, Math.max(MIN_DEVICE_PART, room - action.length - 1)).replace(/_+$/, '');
  return `${`${device}_${action}`.slice(0, room).replace(/_+$/, '')}_${hash(`${prefix}_${action}`)}`;
}

function rank(device: Device, plain: string): string {
  return `${device.isNamedHere ? 0 : 1}${slug(device.id, '_') === plain ? 0 : 1}${device.id}`;
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH);
}
