import type { Device } from '../core/device-model.ts';
import { nearestTexts } from '../core/edit-distance.ts';
import { AtmoError } from '../core/errors.ts';
import type { DeviceId } from '../core/ids.ts';
import type { CallerView } from './tool-definition.ts';

/** What a resolver needs of a device. */
export type DeviceName = Pick<Device, 'id' | 'name'>;

/** Turns what a caller wrote into a device id. */
export interface DeviceNames {
  resolve(text: string, caller: CallerView): DeviceId;
}

/** Resolves over a list that may change, such as `() => directory.list()`. */
export function deviceNames(list: () => readonly DeviceName[]): DeviceNames {
  return { resolve: (text, caller) => resolveDevice(text, list(), caller) };
}

/**
 * The device that `text` means: its id, or a name that only one of the devices visible to the caller has, letter case
 * aside. DEVICE_NOT_FOUND suggests, AMBIGUOUS_DEVICE lists ids; devices that the caller may not see do not exist.
 */
export function resolveDevice(text: string, devices: readonly DeviceName[], caller: CallerView): DeviceId {
  const byId = devices.find((device) => device.id === text);
  if (byId && canSeeDevice(byId.id, caller)) return byId.id;
  const visible = devices.filter((device) => canSeeDevice(device.id, caller));
  const wanted = fold(text);
  const matches = visible.filter((device) => fold(device.name) === wanted);
  const [match] = matches;
  if (matches.length > 1) throw ambiguous(text, matches);
  if (!match) throw notFound(text, visible);
  return match.id;
}

/** True when the caller holds any grant on the device. */
export function canSeeDevice(id: DeviceId, caller: CallerView): boolean {
  return caller.canSee(`device:read:${id}`) || caller.canSee(`admin:device:${id}`);
}

/** True when `text` is the device's id, or its name, letter case aside. */
export function isDeviceNamed(text: string, { id, name }: { readonly id: string; readonly name: string }): boolean {
  return id === text || fold(name) === fold(text);
}

function fold(text: string): string {
  return text.normalize('NFKC').trim().toLowerCase();
}

function ambiguous(text: string, matches: readonly DeviceName[]): AtmoError {
  const candidates = matches.map((device) => device.id);
  return new AtmoError('AMBIGUOUS_DEVICE', `${quote(text)} is the name of ${matches.length} devices; use an id: ${candidates.join(', ')}`, {
    candidates,
  });
}

function notFound(text: string, visible: readonly DeviceName[]): AtmoError {
  const byText = new Map(visible.flatMap((device) => [[device.name, device.id] as const, [device.id, device.id] as const]));
  const suggestions = [...new Set(nearestTexts(text, byText.keys(), 6).map((near) => byText.get(near) ?? ''))].slice(0, 3);
  const hint = suggestions.length === 0 ? 'list the devices to see what there is' : `did you mean ${suggestions.join(' or ')}?`;
  return new AtmoError('DEVICE_NOT_FOUND', `There is no device ${quote(text)}; ${hint}`, { suggestions });
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}
