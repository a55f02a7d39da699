import { createHash } from 'node:crypto';
import type { Device } from '../../core/devices/device-model.ts';
import { type DeviceId, slug } from '../../core/ids.ts';

/** Longest tool name; what every model server takes whole. */
export const NAME_LIMIT = 40;
const MIN_DEVICE_PART = 10;
const HASH_LENGTH = 6;

/**
 * The device part of tool names: the device's name, or its id where the name has no Latin letters. Of several devices of
 * one name, one that a person named so keeps it plain, since any device may call itself like another; among equals the one
 * whose id is that name, else the first id. The others get a hash of their id. Depends on the set of devices only, so names are the same after every start.
 */
export function deviceSlugs(devices: readonly Device[]): ReadonlyMap<DeviceId, string> {
  const groups = Map.groupBy(devices, plainSlug);
  const slugs = new Map<DeviceId, string>();
  for (const [plain, group] of groups) {
    const [first, ...others] = group.toSorted((a, b) => rank(a, plain).localeCompare(rank(b, plain), 'en'));
    if (first) slugs.set(first.id, plain);
    for (const other of others) slugs.set(other.id, distinctSlug(plain, other.id));
  }
  return slugs;
}

/** The name for a device whose plain one another tool has taken. */
export function distinctSlug(slugText: string, device: DeviceId): string {
  return `${slugText}_${hash(device)}`;
}

/** `<device>_<action>`, at most 40 characters; a name that has to be cut ends in a hash of the whole. */
export function toolName(deviceSlug: string, action: string): string {
  const whole = `${deviceSlug}_${action}`;
  if (whole.length <= NAME_LIMIT) return whole;
  const room = NAME_LIMIT - HASH_LENGTH - 1;
  const device = deviceSlug.slice(0, Math.max(MIN_DEVICE_PART, room - action.length - 1)).replace(/_+$/, '');
  return `${`${device}_${action}`.slice(0, room).replace(/_+$/, '')}_${hash(whole)}`;
}

function plainSlug(device: Device): string {
  const text = slug(device.name, '_').replace(/_+/g, '_') || slug(device.id, '_');
  return /^[a-z]/.test(text) ? text : `device_${text}`;
}

function rank(device: Device, plain: string): string {
  return `${device.isNamedHere ? 0 : 1}${slug(device.id, '_') === plain ? 0 : 1}${device.id}`;
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH);
}
