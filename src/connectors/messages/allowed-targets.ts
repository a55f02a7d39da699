import { AtmoError } from '../../core/errors.ts';

/** JSON Schema of a list of targets that tools may reach: whole names, or a `*` at one end. */
export const ALLOWED_TARGETS = {
  type: 'array',
  minItems: 1,
  maxItems: 256,
  items: { type: 'string', pattern: '^(\\*?[^*\\s]{1,254}|[^*\\s]{1,254}\\*)$' },
} as const;

/**
 * Refuses targets that the owner did not allow; upper and lower case are the same. PERMISSION_DENIED names the first of them and
 * the setting. Everything is allowed where the owner set nothing.
 */
export function requireAllowed(targets: readonly string[], allowed: readonly string[] | undefined, setting: string): void {
  if (!allowed) return;
  const denied = targets.find((target) => !allowed.some((pattern) => fits(target.toLowerCase(), pattern.toLowerCase())));
  if (denied === undefined) return;
  throw new AtmoError('PERMISSION_DENIED', `${JSON.stringify(denied)} is not among ${setting}; the owner may add it there`, {
    target: denied,
  });
}

function fits(target: string, pattern: string): boolean {
  if (pattern.startsWith('*')) return target.endsWith(pattern.slice(1));
  return pattern.endsWith('*') ? target.startsWith(pattern.slice(0, -1)) : target === pattern;
}
