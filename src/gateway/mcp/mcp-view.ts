import { field } from '../door/query.ts';
import type { DoorRequest } from '../door/route.ts';
import { type AreaParts, areaOfView } from './area-view.ts';

/**
 * What a client gets to see: by address only, so that a list never changes because of what was asked before. `isFull` shows the schemas
 * of answers and icons as well, which are much of a list of tools and which few models need.
 */
export type McpView =
  /** `/mcp`: a dozen tools that find and run all others. */
  | { readonly kind: 'home' }
  /** `/mcp/devices`: every tool of every device, typed, in pages. */
  | { readonly kind: 'devices'; readonly isFull?: true }
  /** `/mcp/areas/{area}`: the same for one area. */
  | { readonly kind: 'area'; readonly area: string; readonly isFull?: true };

/** What every address of the server may be asked with. */
export const VIEW_QUERY = { schemas: field.choice('full: the list of tools with schemas of their answers and icons', ['full']) };

export type ViewOf = (request: DoorRequest, parts: AreaParts) => McpView;
/** The views by the path that shows them. */
export const VIEWS: Readonly<Record<string, ViewOf>> = {
  '/mcp': () => ({ kind: 'home' }),
  '/mcp/devices': ({ request }) => ({ kind: 'devices', ...fullness(request) }),
  '/mcp/areas/:area': ({ path, principal, request }, parts) => ({
    kind: 'area',
    area: areaOfView(path.area ?? '', principal, parts),
    ...fullness(request),
  }),
};

export function isSameView(a: McpView, b: McpView): boolean {
  return a.kind === b.kind && (a.kind !== 'area' || (b.kind === 'area' && a.area === b.area));
}

/** `?schemas=full` at the address asks for the schemas of answers and for icons. */
function fullness({ url }: Request): { readonly isFull?: true } {
  return new URL(url).searchParams.get('schemas') === 'full' ? { isFull: true } : {};
}
