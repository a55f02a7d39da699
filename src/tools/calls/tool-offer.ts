import type { Principal } from '../../core/access/principal.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { allNamesOf } from '../definition/tool-name.ts';
import { mayCallTool } from '../visibility.ts';
import type { StageContext } from './stages/stage-context.ts';
import { missingFeatures } from './tool-features.ts';

type OfferContext = Pick<StageContext, 'authorizer' | 'features' | 'disabledTools'>;

/** Is there a call of the tool that grants, features and the owner's switches let this caller make? Lists show only such tools. */
export function isOffered(tool: RegisteredTool, principal: Principal, { authorizer, features, disabledTools }: OfferContext): boolean {
  if (!mayCallTool(tool, principal, authorizer)) return false;
  return !isNamedIn(disabledTools, tool) && missingFeatures(features, tool, principal).length === 0;
}

/** Does a list of the owner's configuration name the tool, by canonical id, `namespace:name` or bare name, present or former? */
export function isNamedIn(names: readonly string[], tool: RegisteredTool): boolean {
  if (names.length === 0) return false;
  return allNamesOf(tool).some((key) => names.includes(key));
}

/** Those of the names in the owner's configuration that mean none of these tools: a slip of the pen switches nothing off. */
export function namesOfNone(names: Iterable<string>, tools: readonly RegisteredTool[]): readonly string[] {
  const known = new Set(tools.flatMap(allNamesOf));
  return [...names].filter((name) => !known.has(name));
}
