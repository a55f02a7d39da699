import type { Authorizer } from '../core/access/authorizer.ts';
import type { Principal } from '../core/access/principal.ts';
import type { CallerView, RegisteredTool } from './definition/tool-definition.ts';

/**
 * May this caller know that the tool exists when it names it? Yes when the tool requires nothing, or when the caller holds
 * a grant on what the tool is about, even for another action (source 000 §4: a reader of notifications learns that it may
 * not send). To all others it answers as if there were no such tool.
 */
export function canSeeTool(tool: RegisteredTool, principal: Principal, authorizer: Authorizer): boolean {
  const { permissions } = tool.definition.requires;
  const judge = judgeOf(tool, authorizer);
  return permissions.length === 0 || permissions.some((permission) => judge.canSee(principal, permission));
}

/** Is there anything that this caller may do with the tool? Lists and searches show only such tools. */
export function mayCallTool(tool: RegisteredTool, principal: Principal, authorizer: Authorizer): boolean {
  const judge = judgeOf(tool, authorizer);
  return tool.definition.requires.permissions.every((permission) => judge.mayTry(principal, permission));
}

/** Who judges about a tool: for one that only other hubs have, what these tell of their devices. */
export function judgeOf({ hubs }: Pick<RegisteredTool, 'hubs'>, authorizer: Authorizer): Authorizer {
  return (hubs && authorizer.elsewhere?.(hubs)) ?? authorizer;
}

/** What a caller may know of. */
export function callerView(principal: Principal, authorizer: Authorizer): CallerView {
  return { canSee: (permission) => authorizer.canSee(principal, permission) };
}
