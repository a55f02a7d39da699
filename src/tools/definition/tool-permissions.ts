import { parsePermission } from '../../core/auth/permission.ts';
import type { Authorizer, Effect, Principal, Risk } from '../../core/auth/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { type CallerRights, needsApproval, type RegisteredTool } from './tool-definition.ts';

const PLACEHOLDER = /\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Returns whether a permission has placeholders that a call's parameters must fill. */
export function isTemplate(permission: string): boolean {
  return permission.includes('{');
}

/** Returns the names of the parameters whose values fill a template. */
export function placeholdersOf(template: string): readonly string[] {
  return [...template.matchAll(PLACEHOLDER)].map(([, name = '']) => name);
}

/** Returns the template with each placeholder replaced by the result of `textOf`. */
export function replacePlaceholders(template: string, textOf: (name: string) => string): string {
  return template.replace(PLACEHOLDER, (_, name: string) => textOf(name));
}

/** Fills the placeholders of a permission. Throws PERMISSION_DENIED if a value is missing or does not name exactly one resource. */
export function fillPermission(template: string, params: JsonObject): string {
  const filled = replacePlaceholders(template, (name) => resourceText(template, name, params[name]));
  if (parsePermission(filled)) return filled;
  const names = placeholdersOf(template).join(', ');
  throw denied(template, names === '' ? 'is not a template that can be filled' : `cannot be judged: ${names} does not name one resource`);
}

/**
 * Returns the permissions that a call with canonical parameters requires, beside those of its effects. Throws the same error as
 * `fillPermission`.
 */
export function requiredPermissions({ definition, permissionsFor }: RegisteredTool, params: JsonObject): readonly string[] {
  return permissionsFor?.(params) ?? filledPermissions(definition.requires.permissions, params);
}

function filledPermissions(required: readonly string[], params: JsonObject): readonly string[] {
  return required.flatMap((permission) => (isTemplate(permission) ? filledForEach(permission, params) : [permission]));
}

/** Fills a template. If its only placeholder names a list, returns one permission for each item; an empty list names no resource. */
function filledForEach(template: string, params: JsonObject): readonly string[] {
  const [name, ...others] = placeholdersOf(template);
  const items = name === undefined || others.length > 0 ? undefined : params[name];
  if (name === undefined || !Array.isArray(items) || items.length === 0) return [fillPermission(template, params)];
  return items.map((item: Json) => fillPermission(template, { [name]: item }));
}

/** Returns the effects of a call with canonical parameters. The effects do not depend on the caller. */
export function effectsOf(tool: RegisteredTool, params: JsonObject): readonly Effect[] {
  const { metadata, execution } = tool.definition;
  const ordinaryRisk = execution.hasSideEffects ? 'low' : 'none';
  const own = requiredPermissions(tool, params).map((permission): Effect => ({ permission, risk: ordinaryRisk, target: tool.id }));
  const effects = tool.effects?.(params) ?? own;
  if (!metadata.isDangerous) return effects;
  // A call of a dangerous tool has a dangerous effect, even if the tool declares no effects.
  return (effects.length === 0 ? own : effects).map((effect) => ({ ...effect, risk: 'dangerous' }));
}

/**
 * Returns the highest risk of the tool's calls. Besides a tool that needs approval, it is `dangerous` if the effects depend on the call and the tool
 * has no fixed device.
 */
export function highestRiskOf({ definition, effects, hubs }: RegisteredTool): Risk {
  if (needsApproval(definition)) return 'dangerous';
  if (!definition.execution.hasSideEffects) return 'none';
  return (effects ?? hubs) && definition.metadata.device === undefined ? 'dangerous' : 'low';
}

const ADMINISTRATION = { namespace: 'hub', permission: 'admin:' };

/**
 * Returns whether a hub runs a call of the tool for another hub only if that hub has signed the call: it needs approval by its definition or its
 * effects, administers the hub, or has steps.
 */
export function needsSignature({ definition, innerCalls }: RegisteredTool, effects: readonly Effect[] = []): boolean {
  const { namespace, requires } = definition;
  if (needsApproval(definition) || namespace === ADMINISTRATION.namespace || innerCalls !== undefined) return true;
  const permissions = [...requires.permissions, ...effects.map(({ permission }) => permission)];
  return (
    permissions.some((permission) => permission.startsWith(ADMINISTRATION.permission)) || effects.some(({ risk }) => risk === 'dangerous')
  );
}

function resourceText(template: string, name: string, value: Json | undefined): string {
  if (value === undefined) throw denied(template, `cannot be judged without the parameter ${name}`);
  if (typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  throw denied(template, `cannot be judged: ${name} does not name one resource`);
}

function denied(template: string, problem: string): AtmoError {
  return new AtmoError('PERMISSION_DENIED', `The permission ${template} ${problem}`, { required: [template] });
}

/** Returns whether a caller may know of a tool: the tool requires no permission, or the caller has any grant for a required resource. */
export function canSeeTool(tool: RegisteredTool, principal: Principal, authorizer: Authorizer): boolean {
  const { permissions } = tool.definition.requires;
  const judge = judgeOf(tool, authorizer);
  return permissions.length === 0 || permissions.some((permission) => judge.canSee(principal, permission));
}

/** Returns whether the caller may call the tool with at least one choice of parameters. Lists and searches show only such tools. */
export function mayCallTool(tool: RegisteredTool, principal: Principal, authorizer: Authorizer): boolean {
  const judge = judgeOf(tool, authorizer);
  return tool.definition.requires.permissions.every((permission) => judge.mayTry(principal, permission));
}

/** Returns the authorizer for a tool. If other hubs have the tool, returns an authorizer that also knows the devices of those hubs. */
export function judgeOf({ hubs }: Pick<RegisteredTool, 'hubs'>, authorizer: Authorizer): Authorizer {
  return hubs ? authorizer.elsewhere(hubs) : authorizer;
}

/** Returns what the caller may see and do, according to the authorizer. */
export function callerView(principal: Principal, authorizer: Authorizer): CallerRights {
  return {
    canSee: (permission) => authorizer.canSee(principal, permission),
    may: (permission) => authorizer.authorize(principal, [permission]).allowed,
  };
}
