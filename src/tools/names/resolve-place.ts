import { areaKey, foldedName } from '../../core/devices/device-names.ts';
import { AtmoError } from '../../core/errors.ts';
import { quoted } from '../../core/untrusted-text.ts';
import { type AreaAliases, distinctAreas, isAreaNamed, resolveArea } from './resolve-names.ts';

/** The kinds of places: one area, all areas of a floor, or everything that the hub has. */
export const PLACE_KINDS = ['area', 'floor', 'house'] as const;
export type PlaceKind = (typeof PLACE_KINDS)[number];

/** Words that mean everything that the hub has, also devices that are in no area. */
const HOUSE_WORDS: ReadonlySet<string> = new Set(['house', 'home', 'everywhere', 'whole house', 'the house']);

/** A part of the home. */
export interface Place {
  readonly kind: PlaceKind;
  /** Name of the area or floor, or `house`. */
  readonly name: string;
  /** Returns whether a device with this area is in the place. */
  has(area: string | undefined): boolean;
}

/**
 * Returns the place that `text` names: an area, else a floor, else the house. `kind` decides where an area and a floor have the same name.
 * `areas` are the areas of devices that the caller may see. Throws NOT_FOUND, or AMBIGUOUS_DEVICE if several areas have the name.
 */
export function resolvePlace(
  { text, kind }: { readonly text: string; readonly kind?: PlaceKind | undefined },
  areas: Iterable<string | undefined>,
  names: AreaAliases,
): Place {
  const known = distinctAreas(areas);
  const floor = floorNamed(text, known, names);
  const isArea = known.some((area) => isAreaNamed(text, area, names));
  if (kind === 'house' || (kind === undefined && !isArea && floor === undefined && HOUSE_WORDS.has(foldedName(text)))) return HOUSE;
  if (kind !== 'area' && floor !== undefined && (kind === 'floor' || !isArea)) return floorPlace(floor, names);
  if (kind === 'floor') throw noFloor(text, known, names);
  const area = resolveArea(text, known, names);
  return { kind: 'area', name: area, has: (one) => one !== undefined && areaKey(one) === areaKey(area) };
}

const HOUSE: Place = { kind: 'house', name: 'house', has: () => true };

function floorPlace(floor: string, names: AreaAliases): Place {
  const isOnFloor = (area: string) => foldedName(names.areaNames(area).floor ?? '') === foldedName(floor);
  return { kind: 'floor', name: floor, has: (area) => area !== undefined && isOnFloor(area) };
}

function floorNamed(text: string, areas: readonly string[], names: AreaAliases): string | undefined {
  return floorsOf(areas, names).find((floor) => foldedName(floor) === foldedName(text));
}

function floorsOf(areas: readonly string[], names: AreaAliases): readonly string[] {
  return [...new Set(areas.flatMap((area) => names.areaNames(area).floor ?? []))];
}

function noFloor(text: string, areas: readonly string[], names: AreaAliases): AtmoError {
  const candidates = floorsOf(areas, names);
  const hint =
    candidates.length > 0 ? `there is ${candidates.map(quoted).join(', ')}` : 'no area has a floor yet: atmo area floor AREA FLOOR';
  return new AtmoError('NOT_FOUND', `There is no floor ${JSON.stringify(text.slice(0, 80))}; ${hint}`, { candidates: [...candidates] });
}
