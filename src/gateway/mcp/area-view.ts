import type { Principal } from '../../core/access/principal.ts';
import type { KnownTools } from '../../tools/elsewhere/known-tools.ts';
import { isAreaNamed, resolveArea } from '../../tools/places/resolve-area.ts';
import type { CallerSight } from '../devices/caller-sight.ts';
import type { ToolCatalogue } from '../tools/tool-catalogue.ts';

/** What tells which areas there are, here and on other hubs. */
export interface AreaParts {
  readonly sight: CallerSight;
  readonly tools: Pick<KnownTools, 'all'>;
  readonly catalogue: Pick<ToolCatalogue, 'visibleTo'>;
}

/** The area that the address of a view names. NOT_FOUND and AMBIGUOUS_DEVICE with those that the caller knows of. */
export function areaOfView(text: string, principal: Principal, { sight, tools, catalogue }: AreaParts): string {
  const here = sight.areas(principal);
  if (here.some((area) => isAreaNamed(text, area, sight.names))) return resolveArea(text, here, sight.names);
  // Of other hubs only the tools are known.
  const isVisible = catalogue.visibleTo(principal);
  const elsewhere = tools.all().filter((tool) => tool.definition.metadata.area !== undefined && isVisible(tool));
  return resolveArea(text, [...here, ...elsewhere.map((tool) => tool.definition.metadata.area)], sight.names);
}
