import { type Grant, parseGrant } from '../../../core/access/permission.ts';
import { deviceText, type NamedDevice, nameText } from '../../../core/devices/action-words.ts';
import { areaKey } from '../../../core/devices/device-facts.ts';

/** What an agent may do with devices, as a person chooses it. */
export const GRANT_ACTIONS = {
  'device:control': 'Control',
  'device:read': 'Read state',
  'sensor:read': 'Read sensors and their history',
} as const;
export type GrantAction = keyof typeof GRANT_ACTIONS;

/** Families of devices by which permissions can be given (docs/access.md). */
export const DEVICE_FAMILIES = [
  ...['light', 'plug', 'switch', 'thermostat', 'heating', 'cover', 'fan', 'sensor', 'media', 'energy'],
  ...['appliance', 'pump', 'valve', 'camera', 'doorbell', 'lock'],
] as const;

/** Which devices: all, those of a room or family as they are at the time of each call, or one. */
export type GrantScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'area'; readonly area: string }
  | { readonly kind: 'type'; readonly type: string }
  | { readonly kind: 'device'; readonly device: string };

/** The permission that a choice stands for. */
export function grantOf(action: GrantAction, scope: GrantScope): string {
  switch (scope.kind) {
    case 'all':
      return `${action}:*`;
    case 'area':
      return `${action}:@area/${areaKey(scope.area)}`;
    case 'type':
      return `${action}:@type/${scope.type}`;
    case 'device':
      // A sensor's resource is `<device>/<reading>`.
      return action === 'sensor:read' ? `${action}:${scope.device}/*` : `${action}:${scope.device}`;
  }
}

const WORDS: Readonly<Record<string, string>> = {
  'device:control': 'control',
  'device:read': 'read the state of',
  'sensor:read': 'read sensors of',
  'admin:device': 'administer',
};

/** A permission as a person reads it, devices by name and room; one without a sentence of its own stays as it is. */
export function grantInWords(text: string, devices: readonly NamedDevice[]): string {
  const grant = parseGrant(text);
  if (!grant) return `${text} (not a permission)`;
  if (grant.kind === 'everything') return 'everything but administration';
  if (grant.kind === 'namespace') return grant.namespace === 'admin' ? 'all administration' : `everything of ${grant.namespace}`;
  const verb = WORDS[`${grant.namespace}:${grant.action}`];
  return verb === undefined ? text : `${verb} ${objectOf(grant, devices)}`;
}

function objectOf(grant: Exclude<Grant, { kind: 'everything' } | { kind: 'namespace' }>, devices: readonly NamedDevice[]): string {
  switch (grant.kind) {
    case 'action':
    case 'any-resource':
      return 'all devices';
    case 'resource':
      return resourceText(grant.resource, devices);
    case 'path':
      return deviceText(grant.path.slice(0, -1), devices);
    case 'group':
      return grant.group.by === 'area' ? `devices in ${areaText(grant.group.name, devices)}` : `devices of type ${grant.group.name}`;
  }
}

/** `hall-lamp/temperature` is a sensor of a device. */
function resourceText(resource: string, devices: readonly NamedDevice[]): string {
  const [device = '', ...reading] = resource.split('/');
  const name = deviceText(device, devices);
  return reading.length === 0 ? name : `${name} (${reading.join('/').replaceAll('_', ' ')})`;
}

function areaText(key: string, devices: readonly NamedDevice[]): string {
  return nameText(devices.find(({ area }) => typeof area === 'string' && areaKey(area) === key)?.area ?? key);
}

/** Permissions typed by hand, one a line or with commas; each that cannot be granted is named. */
export function typedGrants(text: string): { readonly grants: readonly string[]; readonly mistakes: readonly string[] } {
  const all = text
    .split(/[\s,]+/)
    .map((grant) => grant.trim())
    .filter((grant) => grant !== '');
  return { grants: all.filter((grant) => parseGrant(grant)), mistakes: all.filter((grant) => !parseGrant(grant)) };
}
