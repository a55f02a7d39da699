import type { Authorizer } from '../core/authorizer.ts';
import type { Principal } from '../core/principal.ts';
import { isTemplate } from './permission-template.ts';
import type { CallerView, RegisteredTool } from './tool-definition.ts';

/**
 * May this caller know that the tool exists? Yes when it requires nothing, or when the caller holds a grant on what the
 * tool is about, even for another action (source 000 §4: a reader of notifications learns that it may not send).
 */
export function canSeeTool(tool: RegisteredTool, principal: Principal, authorizer: Authorizer): boolean {
  const { permissions } = tool.definition.requires;
  const view = callerView(principal, authorizer);
  return permissions.length === 0 || permissions.some((permission) => view.canSee(permission));
}

/** What a caller may know of, judged from its grants and, for grants by type or area, by the authorizer. */
export function callerView(principal: Principal, authorizer: Authorizer): CallerView {
  return {
    canSee: (permission) =>
      principal.permissions.some((grant) => concernsSame(grant, permission)) ||
      (!isTemplate(permission) && authorizer.authorize(principal, [permission]).allowed),
  };
}

/** True when a grant is about the resource of a permission, whatever the action; by the grant grammar of design 7. */
function concernsSame(grant: string, permission: string): boolean {
  const [grantNamespace, grantAction, grantResource] = splitPermission(grant);
  const [namespace, , resource] = splitPermission(permission);
  if (grant === '*') return namespace !== 'admin';
  if (grantNamespace !== namespace) return false;
  if (grantAction === '*' || resource === undefined || isTemplate(resource)) return true;
  if (grantResource === undefined) return false;
  return grantResource === '*' || grantResource === resource || isBelow(resource, grantResource);
}

function isBelow(resource: string, pattern: string): boolean {
  const folder = pattern.slice(0, -1);
  return pattern.endsWith('/*') && resource.startsWith(folder) && resource.length > folder.length;
}

function splitPermission(text: string): readonly [string, string | undefined, string | undefined] {
  const [namespace = '', action, ...resource] = text.split(':');
  return [namespace, action, resource.length === 0 ? undefined : resource.join(':')];
}
