import { areaKey, foldedName, type HomeNames } from '../../core/devices/device-names.ts';
import { compareText } from '../../core/edit-distance.ts';

type OrderedNames = Pick<HomeNames, 'areaNames' | 'order'>;

/** Returns the areas in the order that people chose: by floor if floors have an order, then by the order of areas, then by name. */
export function inHomeOrder(areas: readonly string[], names: OrderedNames): readonly string[] {
  const { areas: keys, floors } = names.order();
  const placed = areas.map((area) => ({
    area,
    floor: rank(floors.map(foldedName), foldedName(names.areaNames(area).floor ?? '')),
    own: rank(keys, areaKey(area)),
  }));
  return placed.sort((a, b) => a.floor - b.floor || a.own - b.own || compareText(a.area, b.area)).map(({ area }) => area);
}

/** Returns the floors of the areas in the order that people chose; a floor without an order comes after the others, by name. */
export function floorsInOrder(areas: readonly string[], names: OrderedNames): readonly string[] {
  const floors = names.order().floors.map(foldedName);
  const named = areas.flatMap((area) => names.areaNames(area).floor ?? []);
  const distinct = [...new Map(named.map((floor) => [foldedName(floor), floor])).values()];
  return distinct.sort((a, b) => rank(floors, foldedName(a)) - rank(floors, foldedName(b)) || compareText(a, b));
}

function rank(list: readonly string[], item: string): number {
  const index = list.indexOf(item);
  return index === -1 ? list.length : index;
}
