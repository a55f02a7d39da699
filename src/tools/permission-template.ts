import { AtmoError } from '../core/errors.ts';
import type { Json, JsonObject } from '../core/json.ts';

const PLACEHOLDER = /\{([A-Za-z_][A-Za-z0-9_]*)\}/g;
const MAX_RESOURCE_LENGTH = 256;
/** The resource grammar of permissions without a leading `@`, which would name a type or an area instead of one resource. */
const RESOURCE = /^[A-Za-z0-9_.+-][A-Za-z0-9_@.+-]*(?:\/[A-Za-z0-9_.+-][A-Za-z0-9_@.+-]*)*$/;

/** True for a permission that is complete only with a call's parameters. */
export function isTemplate(permission: string): boolean {
  return permission.includes('{');
}

/**
 * A permission such as `device:control:{device_id}` with values of validated, canonical parameters. PERMISSION_DENIED
 * when a value is missing or could mean anything but one resource.
 */
export function fillPermission(template: string, params: JsonObject): string {
  const filled = template.replace(PLACEHOLDER, (_, name: string) => resourceText(template, name, params[name]));
  if (isTemplate(filled)) throw denied(template, 'is not a template that can be filled');
  return filled;
}

function resourceText(template: string, name: string, value: Json | undefined): string {
  if (value === undefined) throw denied(template, `cannot be judged without the parameter ${name}`);
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof text !== 'string' || !isOneResource(text)) throw denied(template, `cannot be judged: ${name} does not name one resource`);
  return text;
}

function isOneResource(text: string): boolean {
  return (
    text.length <= MAX_RESOURCE_LENGTH && RESOURCE.test(text) && !text.split('/').some((segment) => segment === '.' || segment === '..')
  );
}

function denied(template: string, problem: string): AtmoError {
  return new AtmoError('PERMISSION_DENIED', `The permission ${template} ${problem}`, { required: [template] });
}
