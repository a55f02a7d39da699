import type { Device } from '../../core/devices/device-model.ts';
import { foldedName, type HomeNames, NO_HOME_NAMES } from '../../core/devices/home-names.ts';
import { nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { CallerView } from '../definition/tool-definition.ts';

/** What a resolver needs of a device; `aliases` are what people call it beside its name. */
export type DeviceName = Pick<Device, 'id' | 'name'> & { readonly aliases?: readonly string[] };

/** Turns what a caller wrote into a device id. */
export interface DeviceNames {
  resolve(text: string, caller: CallerView): DeviceId;
}

/** Resolves over a list that may change, such as `() => directory.list()`, with the names that people gave besides. */
export function deviceNames(list: () => readonly DeviceName[], names: CalledBy = NO_HOME_NAMES): DeviceNames {
  return { resolve: (text, caller) => resolveDevice(text, withAliases(list(), names), caller) };
}

/** The devices with what people call them besides, and what they called them before. */
export function withAliases(devices: readonly DeviceName[], names: CalledBy): readonly DeviceName[] {
  return devices.map(({ id, name }) => ({ id, name, aliases: [...names.deviceAliases(id), ...names.formerNames(id)] }));
}

type CalledBy = Pick<HomeNames, 'deviceAliases' | 'formerNames'>;

/**
 * The device that `text` means: its id, or a name or alias that only one of the devices visible to the caller has, letter
 * case aside, now or before. A name counts no more than an alias: whoever names a device may not take over what another one is called.
 * DEVICE_NOT_FOUND suggests, AMBIGUOUS_DEVICE lists ids; devices that the caller may not see do not exist.
 */
export function resolveDevice(text: string, devices: readonly DeviceName[], caller: CallerView): DeviceId {
  const byId = devices.find((device) => device.id === text);
  if (byId && canSeeDevice(byId.id, caller)) return byId.id;
  const visible = devices.filter((device) => canSeeDevice(device.id, caller));
  const matches = visible.filter((device) => isCalled(text, device));
  const [match] = matches;
  if (matches.length > 1) throw ambiguous(text, matches);
  if (!match) throw notFound(text, visible);
  return match.id;
}

/** True when the caller holds any grant on the device. */
export function canSeeDevice(id: DeviceId, caller: CallerView): boolean {
  return caller.canSee(`device:read:${id}`) || caller.canSee(`admin:device:${id}`);
}

/** What a device answers to. */
interface Called {
  readonly name: string;
  readonly aliases?: readonly string[];
}

/** True when `text` is the device's id, or its name or an alias, letter case aside. */
export function isDeviceNamed(text: string, device: Called & { readonly id: string }): boolean {
  return device.id === text || isCalled(text, device);
}

function isCalled(text: string, { name, aliases = [] }: Called): boolean {
  const wanted = foldedName(text);
  return foldedName(name) === wanted || aliases.some((alias) => foldedName(alias) === wanted);
}

function ambiguous(text: string, matches: readonly DeviceName[]): AtmoError {
  const candidates = matches.map((device) => device.id);
  return new AtmoError('AMBIGUOUS_DEVICE', `${quote(text)} is the name of ${matches.length} devices; use an id: ${candidates.join(', ')}`, {
    candidates,
  });
}

function notFound(text: string, visible: readonly DeviceName[]): AtmoError {
  const byText = new Map(visible.flatMap(({ id, name, aliases = [] }) => [name, id, ...aliases].map((one) => [one, id] as const)));
  const suggestions = [...new Set(nearestTexts(text, byText.keys(), 6).map((near) => byText.get(near) ?? ''))].slice(0, 3);
  const hint = suggestions.length === 0 ? 'list the devices to see what there is' : `did you mean ${suggestions.join(' or ')}?`;
  return new AtmoError('DEVICE_NOT_FOUND', `There is no device ${quote(text)}; ${hint}`, { suggestions });
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}
