import { areaKey } from '../../core/devices/device-facts.ts';
import type { HomeNames } from '../../core/devices/home-names.ts';
import { nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import { quoted } from '../../core/foreign-text.ts';

const MAX_CANDIDATES = 20;

/** What `areaNames` knows of an area. */
export type AreaAliases = Pick<HomeNames, 'areaNames' | 'areaToday'>;

/**
 * The area that `text` means, as it is written in `areas`: one of that name or with that alias. NOT_FOUND and
 * AMBIGUOUS_DEVICE with candidates.
 */
export function resolveArea(text: string, areas: Iterable<string | undefined>, names: AreaAliases): string {
  const known = distinctAreas(areas);
  const matches = known.filter((area) => isAreaNamed(text, area, names));
  const [match] = matches;
  if (matches.length > 1) {
    const called = `${quote(text)} is what ${matches.length} areas are called`;
    throw new AtmoError('AMBIGUOUS_DEVICE', `${called}: ${matches.map(quoted).join(', ')}; name one`, { candidates: matches });
  }
  if (match !== undefined) return match;
  const candidates = nearAreas(text, known, names);
  const hint = candidates.length > 0 ? `there is ${candidates.map(quoted).join(', ')}` : 'no device is in any area';
  throw new AtmoError('NOT_FOUND', `There is no area ${quote(text)}; ${hint}`, { candidates });
}

/** True when `text` is the area's name, was its name, or is one of its aliases. */
export function isAreaNamed(text: string, area: string, names: AreaAliases): boolean {
  const key = areaKey(text);
  return areaKey(area) === areaKey(names.areaToday(text)) || names.areaNames(area).aliases.some((alias) => areaKey(alias) === key);
}

/** Each area once, as it is written first. */
export function distinctAreas(areas: Iterable<string | undefined>): string[] {
  const byKey = new Map<string, string>();
  for (const area of areas) if (area !== undefined && !byKey.has(areaKey(area))) byKey.set(areaKey(area), area);
  return [...byKey.values()];
}

function nearAreas(text: string, areas: readonly string[], names: AreaAliases): string[] {
  const byText = new Map(areas.flatMap((area) => [area, ...names.areaNames(area).aliases].map((name) => [name, area] as const)));
  const near = new Set(nearestTexts(text, byText.keys()).map((name) => byText.get(name) ?? ''));
  return near.size > 0 ? [...near] : areas.slice(0, MAX_CANDIDATES);
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}
