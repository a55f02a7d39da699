import { isJsonObject, type Json, objectsOf } from '../../core/json.ts';
import type { IconName } from '../components/icon.ts';
import { type TextKey, text } from '../texts/text.ts';
import type { DeviceGroup, GroupKind } from './home-areas.ts';
import type { TileCall } from './tile-control.ts';

/** Part of the home that one call of `control_area` controls. Without a name it is the whole house. */
export interface Place {
  readonly kind: 'area' | 'floor' | 'house';
  readonly name: string;
}

export const HOUSE: Place = { kind: 'house', name: 'house' };

interface GroupWords {
  readonly icon: IconName;
  /** What a tap does while a member is on or open, and otherwise. */
  readonly active: { readonly action: string; readonly label: TextKey; readonly everywhere: TextKey };
  readonly resting: { readonly action: string; readonly label: TextKey; readonly everywhere: TextKey };
}

/** The words and the icon of each kind of group. */
export const GROUP_WORDS: Readonly<Record<GroupKind, GroupWords>> = {
  lights: {
    icon: 'bulb',
    active: { action: 'off', label: 'home.lights_off_in', everywhere: 'home.lights_off' },
    resting: { action: 'on', label: 'home.lights_on_in', everywhere: 'home.lights_all_on' },
  },
  covers: {
    icon: 'blind',
    active: { action: 'close', label: 'home.covers_close_in', everywhere: 'home.covers_close' },
    resting: { action: 'open', label: 'home.covers_open_in', everywhere: 'home.covers_open' },
  },
  climate: {
    icon: 'thermostat',
    active: { action: 'off', label: 'home.climate_off_in', everywhere: 'home.climate_off' },
    resting: { action: 'on', label: 'home.climate_on_in', everywhere: 'home.climate_on' },
  },
};

/** Returns the call that controls all devices of a group: off or closed if one of them is on or open, and otherwise on or open. */
export function groupCall(place: Place, { kind, isActive }: Pick<DeviceGroup, 'kind' | 'isActive'>): TileCall {
  const words = GROUP_WORDS[kind];
  const { action, label, everywhere } = isActive ? words.active : words.resting;
  return {
    tool: 'control_area',
    params: { area: place.name, scope: place.kind, what: kind, action },
    label: place.kind === 'house' ? text(everywhere) : text(label, { name: place.name }),
  };
}

/** What became of a call for many devices, such as `11 of 12 done`, and one line about each device that did not follow. */
export interface GroupOutcome {
  readonly label: string;
  readonly words: string;
  readonly others: readonly string[];
}

/** Returns what became of the members of a call. Returns undefined if the result does not tell of members. */
export function groupOutcome(label: string, result: Json | undefined): GroupOutcome | undefined {
  const members = isJsonObject(result) ? objectsOf(result.members) : [];
  if (members.length === 0) return undefined;
  const others = members.filter(({ outcome }) => outcome !== 'settled');
  const words = text('home.outcome', { done: members.length - others.length, count: members.length });
  return { label, words, others: others.map(memberWords) };
}

const OUTCOMES: Readonly<Record<string, TextKey>> = {
  not_settled: 'home.not_settled',
  failed: 'home.failed',
  skipped: 'home.skipped',
};

function memberWords({ name, outcome, reason, code }: { readonly [member: string]: Json }): string {
  const device = String(name);
  if (code === 'DEVICE_UNREACHABLE' || code === 'TIMEOUT') return text('home.no_answer', { name: device });
  const key = OUTCOMES[String(outcome)] ?? 'home.failed';
  return text(key, { name: device, reason: typeof reason === 'string' ? reason : '' });
}
