import type { Principal } from '../../core/access/principal.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { mayCallTool } from '../visibility.ts';
import type { StageContext } from './stages/stage-context.ts';
import { missingFeatures } from './tool-features.ts';

type OfferContext = Pick<StageContext, 'authorizer' | 'features' | 'disabledTools'>;

/** Is there a call of the tool that grants, features and the owner's switches let this caller make? Lists show only such tools. */
export function isOffered(tool: RegisteredTool, principal: Principal, { authorizer, features, disabledTools }: OfferContext): boolean {
  if (!mayCallTool(tool, principal, authorizer)) return false;
  return !isSwitchedOff(tool, disabledTools) && missingFeatures(features, tool, principal).length === 0;
}

/** Has the owner switched it off, by canonical id, `namespace:name` or bare name? */
export function isSwitchedOff({ id, definition }: RegisteredTool, disabledTools: readonly string[]): boolean {
  if (disabledTools.length === 0) return false;
  return namesOf({ id, definition }).some((key) => disabledTools.includes(key));
}

/** Those of the names in the owner's configuration that mean none of these tools: a slip of the pen, or an alias, switches nothing off. */
export function namesOfNone(names: Iterable<string>, tools: readonly RegisteredTool[]): readonly string[] {
  const known = new Set(tools.flatMap(namesOf));
  return [...names].filter((name) => !known.has(name));
}

function namesOf({ id, definition }: Pick<RegisteredTool, 'id' | 'definition'>): readonly string[] {
  return [id, `${definition.namespace}:${definition.name}`, definition.name];
}
