import { type Grant, parseGrant } from '../core/access/permission.ts';
import { areaKey } from '../core/devices/device-facts.ts';
import { editDistance, nearestTexts } from '../core/edit-distance.ts';
import { isJsonObject, type JsonObject } from '../core/json.ts';

/** What grants may name: the tools and the devices of a hub, as its HTTP API tells them. */
interface KnownThings {
  readonly tools: readonly JsonObject[];
  readonly devices: readonly JsonObject[];
}

/** More letters than these apart, and it is another word. */
const MAX_SLIPS = 2;

/**
 * One sentence for each grant that looks misspelled: an action nearly like one that a tool requires, or without the thing that tools
 * require it of, a device or an area that this hub does not know. Such grants are allowed: tools and devices come later, and other
 * hubs have theirs.
 */
export function lintGrants(grants: readonly string[], known: KnownThings): readonly string[] {
  const required = known.tools.flatMap(requiredPermissions);
  const actions = new Set(required.map(actionOf));
  const names = namesOf(known.devices);
  return grants.flatMap((text) => {
    const grant = parseGrant(text);
    return grant === undefined
      ? []
      : [...actionProblem(text, grant, actions), ...thingProblem(text, grant, required), ...nameProblem(text, grant, names)];
  });
}

function actionProblem(text: string, grant: Grant, actions: ReadonlySet<string>): readonly string[] {
  if (!('action' in grant)) return [];
  const action = `${grant.namespace}:${grant.action}`;
  const [near] = actions.has(action) ? [] : nearestTexts(action, actions, 1);
  if (near === undefined || editDistance(action, near) > MAX_SLIPS) return [];
  return [`${text}: no tool requires ${action}; did you mean ${near}?`];
}

/** `device:control` covers no device: tools require it of one. */
function thingProblem(text: string, grant: Grant, required: readonly string[]): readonly string[] {
  const isOfThings = grant.kind === 'action' && !required.includes(text) && required.some((permission) => actionOf(permission) === text);
  return isOfThings ? [`${text}: tools require it of one thing; did you mean ${text}:*?`] : [];
}

function nameProblem(text: string, grant: Grant, { devices, areas }: ReturnType<typeof namesOf>): readonly string[] {
  if (grant.kind === 'group' && grant.group.by === 'area')
    return missing(`${text}: no area ${grant.group.name} is known here`, grant.group.name, areas);
  const isOfDevice = grant.kind === 'resource' && grant.namespace === 'device';
  return isOfDevice ? missing(`${text}: no device ${grant.resource} is known here`, grant.resource, devices) : [];
}

function missing(sentence: string, name: string, known: readonly string[]): readonly string[] {
  if (known.includes(name)) return [];
  const [near] = nearestTexts(name, known, 1);
  return [near === undefined ? sentence : `${sentence}; did you mean ${near}?`];
}

function requiredPermissions({ requires }: JsonObject): readonly string[] {
  return isJsonObject(requires) && Array.isArray(requires.permissions) ? requires.permissions.map(String) : [];
}

const actionOf = (permission: string): string => permission.split(':').slice(0, 2).join(':');

function namesOf(devices: readonly JsonObject[]): { readonly devices: readonly string[]; readonly areas: readonly string[] } {
  return {
    devices: devices.map(({ id }) => String(id)),
    areas: [...new Set(devices.flatMap(({ area }) => (typeof area === 'string' ? [areaKey(area)] : [])))],
  };
}
