import { AtmoError } from '../errors.ts';
import { oncePerText } from '../lifecycle.ts';

/**
 * A required permission, written `namespace:action[:resource]`. A grant covers required permissions; texts are compared byte by byte. The
 * forms of a grant are:
 *
 *     *               every permission outside of the namespace `admin`
 *     ns:*            every permission in the namespace
 *     ns:act          the action without a resource, and nothing else
 *     ns:act:*        the action with any resource or with none
 *     ns:act:res      the action on this resource
 *     ns:act:path/*   the action on every resource below the path
 *     ns:act:@type/light, ns:act:@area/kitchen
 *                     the action on every device that has the type, or is in the area, at the time of the call
 *     ns:act:@area/hall+kitchen/@type/light+plug
 *                     the action on every device that is in one of the areas and also has one of the types
 */
export interface Permission {
  readonly namespace: string;
  readonly action: string;
  readonly resource?: string;
}

/** A parsed grant. */
export type Grant =
  | { readonly kind: 'everything' }
  | { readonly kind: 'namespace'; readonly namespace: string }
  | { readonly kind: 'action'; readonly namespace: string; readonly action: string }
  | { readonly kind: 'any-resource'; readonly namespace: string; readonly action: string }
  | { readonly kind: 'resource'; readonly namespace: string; readonly action: string; readonly resource: string }
  /** `path` ends with a slash. */
  | { readonly kind: 'path'; readonly namespace: string; readonly action: string; readonly path: string }
  | { readonly kind: 'group'; readonly namespace: string; readonly action: string; readonly group: ResourceGroup }
  | ({ readonly kind: 'section'; readonly namespace: string; readonly action: string } & DeviceSection);

/** The devices that are in one of the areas and have one of the types. Both lists have slugs. */
export interface DeviceSection {
  readonly areas: readonly string[];
  readonly types: readonly string[];
}

/** All devices of a type (`light`) or in an area (`living-room`). `name` is the slug of the type or area. */
export interface ResourceGroup {
  readonly by: 'type' | 'area';
  readonly name: string;
}

/** Port: says whether a resource belongs to a group now. The groups of a sensor reading are those of its device. */
export interface ResourceGroups {
  isMember(resource: string, group: ResourceGroup): boolean;
}

/** Port: says whether a resource of the given hubs belongs to a group. Uses what each hub announces about its own devices. */
export interface RemoteGroups {
  isMember(resource: string, group: ResourceGroup, hubs: readonly string[]): boolean;
}

const ADMIN = 'admin';
const MAX_LENGTH = 256;
const WORD = /^[a-z][a-z0-9_-]{0,31}$/;
const SEGMENT = /^[A-Za-z0-9_@.+-]+$/;
const GROUP = /^@(type|area)\/([a-z0-9][a-z0-9_-]{0,63})$/;
const SECTION = /^@area\/([a-z0-9][a-z0-9_+-]*)\/@type\/([a-z0-9][a-z0-9_+-]*)$/;
const SLUG = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** The groups of a hub without devices: no group has a member. */
export const NO_GROUPS: ResourceGroups = { isMember: () => false };

/**
 * Parses a required permission. Returns undefined if the text is malformed, contains a wildcard or a template, or names a group of
 * resources. Results are cached, because all lists of tools require the same permissions.
 */
export const parsePermission = oncePerText(readPermission, { maxKept: 8_192, maxLength: MAX_LENGTH });

/** Parses a grant; returns undefined if it is malformed. Results are cached, since most tokens have the same few grants. */
export const parseGrant = oncePerText(readGrant, { maxKept: 1_024, maxLength: MAX_LENGTH });

function readPermission(text: string): Permission | undefined {
  const [namespace = '', action = '', resource, ...rest] = text.split(':');
  if (!WORD.test(namespace) || !WORD.test(action) || rest.length > 0) return undefined;
  if (resource === undefined) return { namespace, action };
  return isResource(resource) ? { namespace, action, resource } : undefined;
}

function readGrant(text: string): Grant | undefined {
  if (text === '*') return { kind: 'everything' };
  const [namespace = '', action = '', resource, ...rest] = text.split(':');
  if (!WORD.test(namespace) || rest.length > 0) return undefined;
  if (action === '*') return resource === undefined ? { kind: 'namespace', namespace } : undefined;
  if (!WORD.test(action)) return undefined;
  if (resource === undefined) return { kind: 'action', namespace, action };
  return parseResourceGrant({ namespace, action }, resource);
}

/** Parses a grant. Throws VALIDATION_ERROR with the permitted forms if it is malformed. */
export function requireGrant(text: string): Grant {
  const grant = parseGrant(text);
  if (grant) return grant;
  throw new AtmoError(
    'VALIDATION_ERROR',
    `${JSON.stringify(text.slice(0, 80))} is not a permission that can be granted; the forms are *, ns:*, ns:action, ns:action:*, ns:action:resource, ns:action:path/*, ns:action:@type/NAME, ns:action:@area/NAME and ns:action:@area/NAME+NAME/@type/NAME+NAME in lower case`,
    { permission: text.slice(0, MAX_LENGTH) },
  );
}

/** Returns whether the grant covers the required permission. */
export function covers(grant: Grant, required: Permission, groups: ResourceGroups): boolean {
  if (grant.kind === 'everything') return required.namespace !== ADMIN;
  if (grant.namespace !== required.namespace) return false;
  if (grant.kind === 'namespace') return true;
  if (grant.action !== required.action) return false;
  const { resource } = required;
  switch (grant.kind) {
    case 'action':
      return resource === undefined;
    case 'any-resource':
      return true;
    case 'resource':
      return resource === grant.resource;
    case 'path':
      return resource?.startsWith(grant.path) ?? false;
    case 'group':
      return resource !== undefined && groups.isMember(resource, grant.group);
    case 'section':
      return resource !== undefined && isInSection(resource, grant, groups);
  }
}

function isInSection(resource: string, { areas, types }: DeviceSection, groups: ResourceGroups): boolean {
  return (
    areas.some((name) => groups.isMember(resource, { by: 'area', name })) &&
    types.some((name) => groups.isMember(resource, { by: 'type', name }))
  );
}

/** Returns whether `parent` covers every permission that `child` covers now or may cover later. */
export function includesGrant(parent: Grant, child: Grant): boolean {
  if (child.kind === 'everything') return parent.kind === 'everything';
  if (parent.kind === 'everything') return child.namespace !== ADMIN;
  if (parent.namespace !== child.namespace) return false;
  if (parent.kind === 'namespace') return true;
  if (child.kind === 'namespace' || parent.action !== child.action) return false;
  switch (parent.kind) {
    case 'action':
      return child.kind === 'action';
    case 'any-resource':
      return true;
    case 'resource':
      return child.kind === 'resource' && child.resource === parent.resource;
    case 'path':
      return isBelow(child, parent.path);
    case 'group':
      return namesOf(child, parent.group.by)?.every((name) => name === parent.group.name) ?? false;
    case 'section':
      return child.kind === 'section' && isWithin(child.areas, parent.areas) && isWithin(child.types, parent.types);
  }
}

/** Returns the areas or types to which a grant limits its devices; undefined if it does not limit them by this property. */
function namesOf(grant: Grant, by: ResourceGroup['by']): readonly string[] | undefined {
  if (grant.kind === 'section') return by === 'area' ? grant.areas : grant.types;
  return grant.kind === 'group' && grant.group.by === by ? [grant.group.name] : undefined;
}

function isWithin(names: readonly string[], bounds: readonly string[]): boolean {
  return names.every((name) => bounds.includes(name));
}

/** Returns the items of `permissions` that no grant in `held` includes. Throws VALIDATION_ERROR if an item of either list is malformed. */
export function excessPermissions(permissions: readonly string[], held: readonly string[]): readonly string[] {
  const grants = held.map(requireGrant);
  return permissions.filter((permission) => {
    const wanted = requireGrant(permission);
    return !grants.some((grant) => includesGrant(grant, wanted));
  });
}

/**
 * Returns each grant, from either list, that a grant of the other list includes. Omits grants that overlap only partly. Throws
 * VALIDATION_ERROR if a grant is malformed.
 */
export function commonPermissions(permissions: readonly string[], ceiling: readonly string[]): readonly string[] {
  const bounds = ceiling.map((text) => ({ text, grant: requireGrant(text) }));
  const common = permissions.flatMap((text) => {
    const wanted = requireGrant(text);
    if (bounds.some(({ grant }) => includesGrant(grant, wanted))) return [text];
    return bounds.filter(({ grant }) => includesGrant(wanted, grant)).map((bound) => bound.text);
  });
  return [...new Set(common)];
}

/** Returns whether the grant covers the permission's resource, if the actions of both are ignored. */
export function concerns(grant: Grant, required: Permission, groups: ResourceGroups): boolean {
  if (grant.kind === 'everything' || grant.kind === 'namespace') return covers(grant, required, groups);
  return grant.namespace === required.namespace && covers({ ...grant, action: required.action }, required, groups);
}

/** Returns whether the grant covers `action` on some resource. Without `action`, returns whether it covers any action on some resource. */
export function coversSome(grant: Grant, { namespace, action }: { readonly namespace: string; readonly action?: string }): boolean {
  if (grant.kind === 'everything') return namespace !== ADMIN;
  if (grant.namespace !== namespace) return false;
  return grant.kind === 'namespace' || (grant.kind !== 'action' && (action === undefined || grant.action === action));
}

function parseResourceGrant(head: { readonly namespace: string; readonly action: string }, resource: string): Grant | undefined {
  if (resource.length > MAX_LENGTH) return undefined;
  if (resource === '*') return { kind: 'any-resource', ...head };
  const group = GROUP.exec(resource);
  if (group) return { kind: 'group', ...head, group: { by: group[1] === 'type' ? 'type' : 'area', name: group[2] ?? '' } };
  const section = SECTION.exec(resource);
  if (section) return parseSection(head, { areas: (section[1] ?? '').split('+'), types: (section[2] ?? '').split('+') });
  if (isResource(resource)) return { kind: 'resource', ...head, resource };
  if (!resource.endsWith('/*') || !isResource(resource.slice(0, -2))) return undefined;
  return { kind: 'path', ...head, path: resource.slice(0, -1) };
}

function parseSection(head: { readonly namespace: string; readonly action: string }, { areas, types }: DeviceSection): Grant | undefined {
  return [...areas, ...types].every((name) => SLUG.test(name)) ? { kind: 'section', ...head, areas, types } : undefined;
}

/** Returns whether the text is the name of one resource. Names of groups begin with `@`. */
function isResource(text: string): boolean {
  if (text.length > MAX_LENGTH || text.startsWith('@')) return false;
  return text.split('/').every((segment) => SEGMENT.test(segment) && segment !== '.' && segment !== '..');
}

function isBelow(child: Grant, path: string): boolean {
  if (child.kind === 'resource') return child.resource.startsWith(path);
  return child.kind === 'path' && child.path.startsWith(path);
}
