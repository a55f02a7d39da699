import type { Authorizer } from '../core/auth/authorizer.ts';
import type { Principal } from '../core/auth/principal.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import { namesOf } from '../tools/definition/tool-names.ts';
import { mayCallTool } from '../tools/definition/tool-permissions.ts';
import type { StageContext } from './pipeline-context.ts';

type OfferContext = Pick<StageContext, 'authorizer' | 'features' | 'disabledTools'>;

/** Is there a call of the tool that grants, features and the owner's switches let this caller make? Lists show only such tools. */
export function isOffered(tool: RegisteredTool, principal: Principal, { authorizer, features, disabledTools }: OfferContext): boolean {
  if (!mayCallTool(tool, principal, authorizer)) return false;
  return !isListed(disabledTools, tool) && missingFeatures(features, tool, principal).length === 0;
}

/** Does a list of the owner's configuration name the tool, by canonical id, `namespace:name` or bare name, present or former? */
export function isListed(names: readonly string[], tool: RegisteredTool): boolean {
  if (names.length === 0) return false;
  return namesOf(tool).some((key) => names.includes(key));
}

/** Those of the names in the owner's configuration that mean none of these tools: a slip of the pen switches nothing off. */
export function unknownToolNames(names: Iterable<string>, tools: readonly RegisteredTool[]): readonly string[] {
  const known = new Set(tools.flatMap(namesOf));
  return [...names].filter((name) => !known.has(name));
}

/** Tools that need more than a permission (source 002 §2.7, `toolToSubscriptionFeatures`). */
export interface ToolFeatures {
  /** Features by canonical id, `namespace:name` or bare name, present or former, of the tool that needs them. */
  readonly required: Readonly<Record<string, readonly string[]>>;
  /** What a caller has. */
  readonly granted: (principal: Principal) => readonly string[];
}

/** The features that the tool needs and the caller has not. */
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
 * The same authorizer, which asks only once whether a principal may try a permission while the present turn of the event loop
 * lasts: lists and searches go over thousands of tools that ask for the same few. The next turn asks anew.
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
