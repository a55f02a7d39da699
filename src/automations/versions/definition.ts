import { canonicalJson } from '../../codec/canonical-json.ts';
import { sha256Hex } from '../../codec/hashes.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, pointerSegment } from '../../core/json.ts';

/** What an automation does and what it may do. */
export interface Definition {
  readonly config: JsonObject;
  readonly permissions: readonly string[];
}

/** Returns the SHA-256, hex, over the canonical JSON (RFC 8785) of a definition whose names are bound to ids. */
export function definitionHash({ config, permissions }: Definition): string {
  return sha256Hex(new TextEncoder().encode(canonicalJson({ config, permissions: sortedPermissions(permissions) })));
}

/** Throws CONFLICT if a definition, as it is bound to ids now, is not the one that a person accepted. */
export function requireAccepted(definition: Definition, accepted: { readonly hash: string } | undefined): void {
  if (!accepted || definitionHash(definition) === accepted.hash) return;
  throw new AtmoError('CONFLICT', 'What the proposal names is not the same as when it was shown; the agent has to propose it anew');
}

/** Returns each permission once, in a fixed order. */
export function sortedPermissions(permissions: readonly string[]): readonly string[] {
  return [...new Set(permissions)].sort();
}

/** A difference between two definitions. `before` is absent for what was added, `after` for what was taken away. */
export interface Difference {
  /** JSON Pointer (RFC 6901), such as `/config/trigger/above`. */
  readonly path: string;
  readonly before?: Json;
  readonly after?: Json;
}

/** Returns what differs between two definitions: the smallest parts of the configurations, and each permission that was given or taken. */
export function differences(before: Definition, after: Definition): readonly Difference[] {
  const path = '/permissions';
  const [had, has] = [new Set(before.permissions), new Set(after.permissions)];
  const taken = [...had.difference(has)].map((permission) => ({ path, before: permission }));
  const given = [...has.difference(had)].map((permission) => ({ path, after: permission }));
  return [...differing('/config', before.config, after.config), ...taken, ...given];
}

function differing(path: string, before: Json | undefined, after: Json | undefined): readonly Difference[] {
  const members = membersOf(before, after);
  if (members) return members.flatMap(([name, one, other]) => differing(`${path}/${pointerSegment(name)}`, one, other));
  if (before !== undefined && after !== undefined && canonicalJson(before) === canonicalJson(after)) return [];
  return [{ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
}

/** Returns the members of two objects or of two lists side by side; undefined if these are not of one kind. */
function membersOf(before: Json | undefined, after: Json | undefined): readonly (readonly [string, Json?, Json?])[] | undefined {
  const areLists = Array.isArray(before) && Array.isArray(after);
  if (!areLists && !(isJsonObject(before) && isJsonObject(after))) return undefined;
  const [one, other] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  return [...new Set([...one.keys(), ...other.keys()])].map((name) => [name, one.get(name), other.get(name)]);
}
