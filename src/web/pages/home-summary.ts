import type { IconName } from '../components/icon.ts';
import { type TextKey, text } from '../texts/text.ts';
import { type HomeDevice, isLight, isOn } from './home-areas.ts';

/** What the summary of the home tells about: devices in a state that people want to know of. */
export type Concern = 'alarms' | 'unreachable' | 'unlocked' | 'open' | 'batteries' | 'lights';

/** A line of the summary, such as `3 lights on`. */
export interface SummaryItem {
  readonly concern: Concern;
  readonly icon: IconName;
  readonly tone: 'bad' | 'cool' | 'warm' | 'plain';
  readonly words: string;
}

interface ConcernRule extends Omit<SummaryItem, 'words'> {
  readonly key: TextKey;
  readonly includes: (device: HomeDevice) => boolean;
}

/** What is most urgent comes first. */
const CONCERNS: readonly ConcernRule[] = [
  { concern: 'alarms', icon: 'warning', tone: 'bad', key: 'home.alarms', includes: ({ tile }) => tile.tone === 'alarm' },
  { concern: 'unreachable', icon: 'warning', tone: 'bad', key: 'home.unreachable', includes: ({ tile }) => !tile.isReachable },
  { concern: 'unlocked', icon: 'unlock', tone: 'cool', key: 'home.unlocked', includes: hasValue('lock', 'unlocked') },
  { concern: 'open', icon: 'door', tone: 'cool', key: 'home.open', includes: hasValue('contact', true) },
  { concern: 'lights', icon: 'bulb', tone: 'warm', key: 'home.lights_on', includes: (one) => isLight(one) && isOn(one) },
  { concern: 'batteries', icon: 'battery', tone: 'plain', key: 'home.batteries', includes: ({ tile }) => tile.isBatteryLow },
];

function hasValue(kind: string, wanted: string | true): (device: HomeDevice) => boolean {
  return ({ readings }) => [...readings.values()].some((reading) => reading.kind === kind && reading.value === wanted);
}

/** Returns what people want to know of the home: alarms, what does not answer, what is open or on, and batteries to change. */
export function summaryOf(devices: readonly HomeDevice[]): readonly SummaryItem[] {
  return CONCERNS.flatMap(({ includes, key, ...item }) => {
    const count = devices.filter(includes).length;
    return count === 0 ? [] : [{ ...item, words: text(key, { count }) }];
  });
}

/** Returns whether a device is one of those that a line of the summary counts. */
export function isConcerned(device: HomeDevice, concern: Concern): boolean {
  return CONCERNS.some((rule) => rule.concern === concern && rule.includes(device));
}

/** Returns one sentence about a home of which the summary has nothing to tell. */
export function quietWords(devices: readonly HomeDevice[]): string {
  if (devices.length === 0) return text('home.nothing');
  return devices.some(isLight) ? text('home.all_quiet') : text('home.device_count', { count: devices.length });
}
