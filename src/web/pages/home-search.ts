import type { SceneInfo } from '../api/hub-types.ts';
import { typeWords } from '../components/formatting.ts';
import type { IconName } from '../components/icon.ts';
import { hasText, text } from '../texts/text.ts';
import { type GroupKind, groupsOf, type HomeDevice } from './home-areas.ts';
import { GROUP_WORDS, groupCall, type Place } from './home-groups.ts';
import { runScene } from './home-scenes.ts';
import type { TileCall } from './tile-control.ts';
import type { MatchView } from './tool-search.ts';

/** Returns whether a device is meant by the words of a search: each word is in its names, its room, its floor or its kind. */
export function isDeviceFound({ device, tile }: HomeDevice, words: string): boolean {
  const kind = `tiles.kind_${tile.icon}`;
  const places = [device.area ?? '', device.floor ?? ''];
  return isFound([device.name, ...tile.aliases, ...places, ...device.device_types.map(typeWords), hasText(kind) ? text(kind) : ''], words);
}

/** Returns whether each word of a search is in one of the texts. Capital letters and accents do not matter. */
export function isFound(texts: readonly string[], words: string): boolean {
  const all = plain(texts.join(' '));
  return plain(words)
    .split(/\s+/)
    .every((word) => all.includes(word));
}

function plain(words: string): string {
  return words.toLowerCase().normalize('NFKD').replaceAll(/\p{M}/gu, '').trim();
}

/** What the search offers to do in one tap. */
export interface Offer {
  readonly icon: IconName;
  readonly call: TileCall;
  /** The devices that it is about. */
  readonly about: string;
}

interface OfferedHome {
  readonly devices: readonly HomeDevice[];
  readonly scenes: readonly SceneInfo[];
}

/** Tools that the hub finds with less confidence are not offered. */
const SURE = 0.5;
const MAX_NAMES = 3;

/** Returns what the words of a search ask for: the scenes of that name, and what the hub finds for the sentence. */
export function offersOf(words: string, found: readonly MatchView[], { devices, scenes }: OfferedHome): readonly Offer[] {
  const sure = found.filter(({ confidence = 0 }) => confidence >= SURE);
  const wanted = scenes.filter(({ name, tool }) => isFound([name], words) || sure.some(({ id }) => id === tool));
  return [...wanted.map(sceneOffer), ...sure.flatMap((match) => placeOffer(match, devices) ?? [])];
}

function sceneOffer(scene: SceneInfo): Offer {
  return { icon: 'sparkle', call: runScene(scene), about: namesWords([...new Set(scene.actions.map(({ device }) => device))]) };
}

/** Returns the offer for a call of `control_area`. Returns nothing if the person sees no device there that follows. */
function placeOffer({ name, suggested_parameters: given }: MatchView, devices: readonly HomeDevice[]): Offer | undefined {
  if (name !== 'control_area' || !given || !isGroupKind(given.what)) return undefined;
  const { what } = given;
  const place = { kind: given.scope, name: given.area } as Place;
  const group = groupsOf(devices.filter((device) => isIn(device, place))).find(({ kind }) => kind === what);
  if (!group) return undefined;
  const names = devices.filter(({ device }) => group.devices.includes(device.id)).map(({ device }) => device.name);
  const isActive = given.action === GROUP_WORDS[what].active.action;
  return { icon: GROUP_WORDS[what].icon, call: groupCall(place, { kind: what, isActive }), about: namesWords(names) };
}

function isGroupKind(what: unknown): what is GroupKind {
  return typeof what === 'string' && Object.hasOwn(GROUP_WORDS, what);
}

function isIn({ device }: HomeDevice, { kind, name }: Place): boolean {
  return kind === 'house' || (kind === 'area' ? device.area : device.floor) === name;
}

function namesWords(names: readonly string[]): string {
  const more = names.length - MAX_NAMES;
  const first = names.slice(0, MAX_NAMES).join(', ');
  return more > 0 ? text('calls.and_more', { names: first, count: more }) : first;
}
