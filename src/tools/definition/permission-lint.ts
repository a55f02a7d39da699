import { parsePermission } from '../../core/access/permission.ts';
import { isSchemaObject } from '../schema/schema-walk.ts';
import { isTemplate, placeholdersOf } from './permission-template.ts';
import type { ToolDefinition } from './tool-definition.ts';

/** Parameters that name the device or sensor which a call is about: the permission has to be for that one. */
const DEVICE_PARAMETERS = ['device_id', 'sensor_id', 'camera_id'] as const;
/** Parameters that name another resource, unless the permission is for one thing already or for the hub as a whole. */
const RESOURCE_PARAMETERS = ['agent_id', 'database', 'collection', 'path', 'key'] as const;
/** Held by the owner alone: there is nothing to narrow. */
const ADMINISTRATIVE = /^admin:[a-z][a-z0-9_-]*$/;

/**
 * What is wrong with the permissions that a tool requires (design 7, registration lint): malformed ones, templates that
 * cannot be filled, a tool that acts and requires nothing, a tool on one thing that requires no permission for it.
 */
export function permissionProblems(definition: ToolDefinition): readonly string[] {
  const { permissions } = definition.requires;
  const names = Object.keys(isSchemaObject(definition.parameters.properties) ? definition.parameters.properties : {});
  const malformed = permissions.flatMap((permission) => requirementProblem(permission, names) ?? []);
  return [...malformed, ...missingPermission(definition), ...unscopedParameters(permissions, names)];
}

const ACTS_FREELY =
  'A tool with side effects has to require a permission: name one (requires.permissions), or say that it only reads (execution.side_effects: false)';

function missingPermission({ requires, execution, metadata }: ToolDefinition): readonly string[] {
  if (requires.permissions.length > 0) return [];
  if (metadata.isDangerous) return ['A dangerous tool has to require a permission'];
  return execution.hasSideEffects ? [ACTS_FREELY] : [];
}

function unscopedParameters(permissions: readonly string[], names: readonly string[]): readonly string[] {
  const filledFrom = permissions.flatMap(placeholdersOf);
  const isNarrow = permissions.some((permission) => ADMINISTRATIVE.test(permission) || parsePermission(permission)?.resource !== undefined);
  return [...DEVICE_PARAMETERS, ...(isNarrow ? [] : RESOURCE_PARAMETERS)]
    .filter((name) => names.includes(name) && !filledFrom.includes(name))
    .map((name) => `A tool on one ${name} has to require a permission with {${name}} in it`);
}

function requirementProblem(permission: string, names: readonly string[]): string | undefined {
  const shown = JSON.stringify(permission.slice(0, 80));
  if (permission.includes('*')) return `${shown} holds a wildcard: grants may, what a tool requires names one thing`;
  if (!isTemplate(permission)) return parsePermission(permission) ? undefined : `${shown} is not of the form namespace:action[:resource]`;
  const unknown = placeholdersOf(permission).find((name) => !names.includes(name));
  if (unknown !== undefined) return `${shown} is filled from ${unknown}, which is no parameter of the tool`;
  if (!hasWholeSegments(permission)) return `${shown}: a placeholder has to be a whole part of the resource, such as config/{key}`;
  return parsePermission(permission.replaceAll(/\{\w+\}/g, 'x')) ? undefined : `${shown} can never be a valid permission`;
}

/** `{a}{b}` or `x-{a}` would let one value take over a part of the next. */
function hasWholeSegments(template: string): boolean {
  const [namespace = '', action = '', ...resource] = template.split(':');
  if (isTemplate(namespace) || isTemplate(action)) return false;
  return resource
    .join(':')
    .split('/')
    .every((segment) => !/[{}]/.test(segment) || /^\{[A-Za-z_]\w*\}$/.test(segment));
}
