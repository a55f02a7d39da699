import type { Authorizer } from '../core/auth/authorizer.ts';
import type { Principal } from '../core/auth/principal.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import { namesOf } from '../tools/definition/tool-names.ts';
import { mayCallTool } from '../tools/definition/tool-permissions.ts';

interface OfferContext {
  readonly authorizer: Authorizer;
  readonly features: ToolFeatures;
  /** Ids or names of tools that the owner switched off. */
  readonly disabledTools: readonly string[];
}

/** Returns whether grants, features and the owner's switches let this caller make some call of the tool. Lists show only such tools. */
export function isOffered(tool: RegisteredTool, principal: Principal, { authorizer, features, disabledTools }: OfferContext): boolean {
  if (!mayCallTool(tool, principal, authorizer)) return false;
  return !isListed(disabledTools, tool) && missingFeatures(features, tool, principal).length === 0;
}

/** Returns whether a list of the owner's configuration names the tool, by canonical id, `namespace:name` or bare name, present or former. */
export function isListed(names: readonly string[], tool: RegisteredTool): boolean {
  if (names.length === 0) return false;
  return namesOf(tool).some((key) => names.includes(key));
}

/** Returns the names in the owner's configuration that mean none of these tools: a misspelt name switches nothing off. */
export function unknownToolNames(names: Iterable<string>, tools: readonly RegisteredTool[]): readonly string[] {
  const known = new Set(tools.flatMap(namesOf));
  return [...names].filter((name) => !known.has(name));
}

/** Tools that need a feature of the caller beside a permission. */
export interface ToolFeatures {
  /** Features by canonical id, `namespace:name` or bare name, present or former, of the tool that needs them. */
  readonly required: Readonly<Record<string, readonly string[]>>;
  /** Features that a caller has. */
  readonly granted: (principal: Principal) => readonly string[];
}

/** Returns the features that the tool needs and the caller lacks. */
export function missingFeatures(features: ToolFeatures, tool: RegisteredTool, principal: Principal): readonly string[] {
  // The owner gives features to others, and cannot lock himself out.
  if (principal.kind === 'owner' || Object.keys(features.required).length === 0) return [];
  const required = namesOf(tool).flatMap((key) => featuresFor(features.required, key));
  if (required.length === 0) return [];
  const granted = features.granted(principal);
  return [...new Set(required)].filter((feature) => !granted.includes(feature));
}

function featuresFor(required: ToolFeatures['required'], key: string): readonly string[] {
  return Object.hasOwn(required, key) ? (required[key] ?? []) : [];
}

/**
 * Returns an authorizer that remembers `mayTry` for the present turn of the event loop: lists and searches go over thousands of tools
 * that need the same few permissions.
 */
export function memoizedAuthorizer(authorizer: Authorizer): Authorizer {
  const verdicts = new Map<Principal, Map<string, boolean>>();
  const verdictsOf = (principal: Principal): Map<string, boolean> => {
    const known = verdicts.get(principal);
    if (known) return known;
    if (verdicts.size === 0) queueMicrotask(() => verdicts.clear());
    const made = new Map<string, boolean>();
    verdicts.set(principal, made);
    return made;
  };
  return {
    authorize: (principal, permissions) => authorizer.authorize(principal, permissions),
    canSee: (principal, permission) => authorizer.canSee(principal, permission),
    mayTry: (principal, permission) => {
      const known = verdictsOf(principal);
      const verdict = known.get(permission) ?? authorizer.mayTry(principal, permission);
      known.set(permission, verdict);
      return verdict;
    },
    ...(authorizer.elsewhere && { elsewhere: (hubs) => authorizer.elsewhere?.(hubs) ?? authorizer }),
  };
}
