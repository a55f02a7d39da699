import { type Grant, parseGrant } from '../../core/auth/permission.ts';
import { AGENT_NAME } from '../../core/auth/principal.ts';
import { deviceText, type NamedDevice, nameText } from '../../core/devices/action-descriptions.ts';
import { areaKey } from '../../core/devices/device-names.ts';
import type { JsonObject } from '../../core/json.ts';
import type { DeviceView } from '../api/hub-types.ts';
import { readingName } from '../components/formatting.ts';
import { hasText, text } from '../texts/text.ts';

/** A token in the result of `GET /api/v1/tokens`. This result never contains the text of a token. */
export interface TokenView {
  readonly token_id: string;
  readonly agent_id: string;
  readonly state: 'valid' | 'expired' | 'revoked';
  readonly permissions: readonly string[];
  readonly issued_at: string;
  readonly expires_at: string;
  readonly issued_by: string;
  readonly role?: string;
  readonly parent?: string;
  /** The access of an application to which the token belongs. It is replaced every hour, so the page shows the access instead. */
  readonly grant?: string;
}

/** The result of `POST /api/v1/tokens`. It contains the token's text, which no other response contains. */
export interface MintedToken {
  readonly token: string;
  readonly token_id: string;
  readonly agent_id: string;
  readonly permissions: readonly string[];
  readonly expires_at: string;
}

/** An agent in the result of `list_agents`. */
export interface AgentView {
  readonly agent_id: string;
  readonly agent_type: 'automation' | 'external';
  readonly kind?: string;
  readonly status: 'active' | 'failing' | 'killed' | 'expired' | 'disabled';
  readonly runs: number;
  readonly expires_at: string;
  readonly last_run_at?: string;
  readonly last_error?: JsonObject;
}

/** The token lifetimes to choose from, in seconds. */
export const LIFETIMES = { hour: 3_600, day: 86_400, week: 604_800, month: 2_592_000, year: 31_536_000 } as const;

/** The result of `POST /api/v1/tokens/preview`: the devices and tools that a token with the given permissions could see. */
export interface TokenPreview {
  readonly devices: readonly Pick<DeviceView, 'id' | 'name' | 'area'>[];
  readonly tools: readonly { readonly id: string; readonly name: string }[];
}

/** The actions on devices that a permission can allow. */
export const GRANT_ACTIONS = ['device:control', 'device:read', 'sensor:read'] as const;
export type GrantAction = (typeof GRANT_ACTIONS)[number];

/** Families of devices for which permissions can be given (docs/access.md). */
export const DEVICE_FAMILIES = [
  ...['light', 'plug', 'switch', 'thermostat', 'heating', 'cover', 'fan', 'sensor', 'media', 'energy'],
  ...['appliance', 'pump', 'valve', 'camera', 'doorbell', 'lock'],
] as const;

/** Returns a kind of devices in the language of the page. A type that is no family, such as `dimmable_light`, stays as it is. */
export function kindInWords(kind: string): string {
  const family = DEVICE_FAMILIES.find((known) => known === kind);
  return family === undefined ? kind : text(`tokens.family_${family}`);
}

/** The devices to which a permission applies. For a room or family, these are the devices that belong to it at the time of each call. */
export type GrantScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'area'; readonly area: string }
  | { readonly kind: 'type'; readonly type: string }
  | { readonly kind: 'device'; readonly device: string };

/** Returns the permission for an action and a scope. */
export function grantOf(action: GrantAction, scope: GrantScope): string {
  switch (scope.kind) {
    case 'all':
      return `${action}:*`;
    case 'area':
      return `${action}:@area/${areaKey(scope.area)}`;
    case 'type':
      return `${action}:@type/${scope.type}`;
    case 'device':
      // A permission for sensors names `<device>/<reading>`. The `*` stands for all readings of the device.
      return action === 'sensor:read' ? `${action}:${scope.device}/*` : `${action}:${scope.device}`;
  }
}

/** Returns a permission in words, with the names of devices and rooms. If there are no words for it, returns the permission unchanged. */
export function grantInWords(permission: string, devices: readonly NamedDevice[]): string {
  const grant = parseGrant(permission);
  if (!grant) return text('tokens.no_permission', { permission });
  if (grant.kind === 'everything') return text('tokens.grant_everything');
  if (grant.kind === 'namespace')
    return grant.namespace === 'admin' ? text('tokens.grant_admin') : text('tokens.grant_namespace', { namespace: grant.namespace });
  const key = `tokens.grant_${grant.namespace}:${grant.action}`;
  const forAll = grant.kind === 'action' || grant.kind === 'any-resource' ? [`${key}_all`] : [];
  const known = [...forAll, key].find(hasText);
  return known && hasText(known) ? text(known, { scope: scopeText(grant, devices) }) : permission;
}

/**
 * Returns permissions in words, one text for each set of actions: what a token may do with which kinds of devices in which rooms. Permissions
 * that are about no kinds stay texts of their own.
 */
export function grantsInWords(permissions: readonly string[], devices: readonly NamedDevice[]): readonly string[] {
  const parts = permissions.map((permission) => ({ permission, part: homePartOf(permission) }));
  const rest = parts.filter(({ part }) => !part).map(({ permission }) => grantInWords(permission, devices));
  const byAction = Map.groupBy(
    parts.flatMap(({ part }) => part ?? []),
    ({ action }) => action,
  );
  const scoped = [...byAction].map(([action, some]) => ({ action, scope: scopeOfParts(some, devices) }));
  const byScope = Map.groupBy(scoped, ({ scope }) => scope);
  const actions = (some: readonly { readonly action: GrantAction }[]) =>
    some.map(({ action }) => text(`tokens.action_${action}`)).join(', ');
  return [...[...byScope].map(([scope, some]) => text('tokens.actions_of', { actions: actions(some), scope })), ...rest];
}

/** The devices of some types, in some areas or in all of them, with which an action is allowed. */
interface HomePart {
  readonly action: GrantAction;
  /** Slugs joined by `+`; empty for all areas. */
  readonly areas: string;
  readonly types: readonly string[];
}

function homePartOf(permission: string): HomePart | undefined {
  const grant = parseGrant(permission);
  if (grant?.kind !== 'section' && grant?.kind !== 'group') return undefined;
  const action = GRANT_ACTIONS.find((known) => known === `${grant.namespace}:${grant.action}`);
  if (action === undefined) return undefined;
  if (grant.kind === 'section') return { action, areas: grant.areas.join('+'), types: grant.types };
  return grant.group.by === 'type' ? { action, areas: '', types: [grant.group.name] } : undefined;
}

/** Returns the devices of an action in words: the types of each list of areas are joined, and then the areas that have the same types. */
function scopeOfParts(parts: readonly HomePart[], devices: readonly NamedDevice[]): string {
  const typesIn = [...Map.groupBy(parts, ({ areas }) => areas)].map(([areas, some]) => ({
    areas,
    types: [...new Set(some.flatMap(({ types }) => types))].map(kindInWords).join(', '),
  }));
  const byTypes = Map.groupBy(typesIn, ({ areas, types }) => (areas === '' ? '' : types));
  return [...byTypes.values()].map((some) => sectionText(some, devices)).join('; ');
}

function sectionText(some: readonly { readonly areas: string; readonly types: string }[], devices: readonly NamedDevice[]): string {
  const types = some[0]?.types ?? '';
  const areas = [...new Set(some.flatMap((one) => one.areas.split('+')))].filter((area) => area !== '');
  if (areas.length === 0) return text('tokens.scope_types', { types });
  return text('tokens.scope_section', { types, areas: areas.map((area) => areaText(area, devices)).join(', ') });
}

function scopeText(grant: Exclude<Grant, { kind: 'everything' } | { kind: 'namespace' }>, devices: readonly NamedDevice[]): string {
  switch (grant.kind) {
    case 'action':
    case 'any-resource':
      return text('tokens.scope_all');
    case 'resource':
      return resourceText(grant.resource, devices);
    case 'path':
      return deviceText(grant.path.slice(0, -1), devices);
    case 'group':
      return grant.group.by === 'area'
        ? text('tokens.scope_area', { area: areaText(grant.group.name, devices) })
        : text('tokens.scope_type', { type: kindInWords(grant.group.name) });
    case 'section':
      return text('tokens.scope_section', {
        types: grant.types.map(kindInWords).join(', '),
        areas: grant.areas.map((area) => areaText(area, devices)).join(', '),
      });
  }
}

/** Returns a resource in words. For a sensor such as `hall-lamp/temperature`, these are the names of the device and of the reading. */
function resourceText(resource: string, devices: readonly NamedDevice[]): string {
  const [device = '', ...reading] = resource.split('/');
  const name = deviceText(device, devices);
  return reading.length === 0 ? name : `${name} (${readingName(reading.join('/'))})`;
}

function areaText(key: string, devices: readonly NamedDevice[]): string {
  return nameText(devices.find(({ area }) => typeof area === 'string' && areaKey(area) === key)?.area ?? key);
}

/** Splits a typed text into permissions at blanks, line ends and commas. `mistakes` has the parts that are not permissions. */
export function typedGrants(typed: string): { readonly grants: readonly string[]; readonly mistakes: readonly string[] } {
  const all = typed.split(/[\s,]+/).filter((grant) => grant !== '');
  return { grants: all.filter((grant) => parseGrant(grant)), mistakes: all.filter((grant) => !parseGrant(grant)) };
}

/** AGENT_NAME as the `pattern` of an input field. Browsers add the anchors, and reject an unescaped hyphen in the character class. */
export const AGENT_NAME_PATTERN = AGENT_NAME.source.replace(/^\^|\$$/g, '').replace('-]{', '\\-]{');
