import { areaKey } from '../../core/device-facts.ts';
import { nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';

/** The area as it is written. NOT_FOUND with the nearest. */
export function areaNamed(text: string, members: readonly { readonly area?: string }[]): string {
  const areas = [...new Set(members.flatMap(({ area }) => area ?? []))];
  const found = areas.find((area) => areaKey(area) === areaKey(text));
  if (found !== undefined) return found;
  const near = nearestTexts(text, areas);
  const candidates = near.length > 0 ? [...near] : areas.slice(0, 20);
  throw new AtmoError('NOT_FOUND', `There is no area ${JSON.stringify(text.slice(0, 64))}; there is ${candidates.join(', ') || 'none'}`, {
    candidates,
  });
}
