import type { DeviceAdministration } from '../../core/devices/device-administration.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { type AreaNames, areaKey, foldedName, type HomeNames, type HomeOrder } from '../../core/devices/device-names.ts';
import type { ReadingStore } from '../../core/devices/sensor-readings.ts';
import { AtmoError } from '../../core/errors.ts';
import { type JsonObject, objectOf, textsOf } from '../../core/json.ts';
import { defineTool, p, resultSchema, TEXT, TEXTS } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { floorsInOrder, inHomeOrder } from '../names/home-order.ts';
import type { NameReference, NameReferences } from '../names/name-references.ts';
import { type DeviceNames, distinctAreas, isAreaNamed, resolveArea } from '../names/resolve-names.ts';
import { describeReferences, nameInUse, REFERENCES, referenceView, requireMayFree } from './device-name-tools.ts';
import { ACTS_ON_HUB, deviceParameter, HUB_ACTS } from './hub-tool.ts';

const MAX_ALIASES = 20;
const aliasesParameter = p.array(p.string({ description: 'Another name', minLength: 1, maxLength: 64, isGivenName: true }), {
  description: 'All other names, in any language; an empty list takes them away',
  maxItems: MAX_ALIASES,
});

/** Port: changes the names of devices and areas. */
export interface HomeNamesEditor extends HomeNames {
  setDeviceAliases(device: string, aliases: readonly string[]): readonly string[];
  describeArea(area: string, names: AreaNames): AreaNames;
  formerAreaNames(area: string): readonly string[];
  setOrder(order: HomeOrder): HomeOrder;
  /** Renames an area. Set `isJoined` if an existing area has the new name: the two become one. Throws STORAGE_FAILED if the write fails. */
  renameArea(from: string, to: string, how: { readonly isJoined: boolean }): void;
  /** Releases a former name of an area, so that another area can get it. Throws STORAGE_FAILED if the write fails. */
  freeArea(name: string): void;
}

interface HomeNameServices {
  readonly names: HomeNamesEditor;
  readonly devices: DeviceNames;
  readonly directory: Pick<DeviceDirectory, 'list'>;
  /** The source of the sensors, which can have areas of their own: each GPIO line of the board is a sensor with its own area. */
  readonly readings: Pick<ReadingStore, 'sensors'>;
  readonly administration: Pick<DeviceAdministration, 'setArea'>;
  readonly uses: Pick<NameReferences, 'of'>;
}

/** Returns the tools that set the names of devices and areas. */
export function homeNameTools(parts: HomeNameServices): readonly RegisteredTool[] {
  return [deviceAliasesTool(parts), describeAreaTool(parts), orderAreasTool(parts), renameAreaTool(parts), freeAreaNameTool(parts)];
}

function deviceAliasesTool({ names, devices }: HomeNameServices): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      name: 'set_device_aliases',
      title: 'Give a device other names',
      description: 'Sets what else people call a device, such as "big lamp" or "Stehlampe", so that searches find it. Its name stays.',
      tags: ['alias', 'nickname', 'name'],
      permissions: ['admin:device:{device_id}'],
      isIdempotent: true,
      parameters: { device_id: deviceParameter, aliases: aliasesParameter },
      returns: resultSchema({ device_id: TEXT, aliases: TEXTS }),
      canonicalize: (params, caller) => ({ ...params, aliases: [...params.aliases], device_id: devices.resolve(params.device_id, caller) }),
      restorable: ({ device_id }) => ({
        path: `aliases/${device_id}`,
        now: () => [...names.deviceAliases(device_id)],
        restore: (aliases) => ({ tool: 'hub:set_device_aliases', params: { device_id, aliases } }),
      }),
    },
    async ({ device_id, aliases }) => ({ device_id, aliases: [...names.setDeviceAliases(device_id, aliases)] }),
  );
}

function describeAreaTool(parts: HomeNameServices): RegisteredTool {
  return defineTool(
    {
      ...ACTS_ON_HUB,
      name: 'describe_area',
      title: 'Describe an area',
      description:
        'Says on which floor an area is and what else people call it, so that "the lights upstairs" are found. What is left out stays as it is.',
      tags: ['floor', 'storey', 'alias', 'room'],
      isIdempotent: true,
      parameters: {
        area: p.string({ description: 'Area that a device or sensor is in', minLength: 1, maxLength: 64 }),
        floor: p
          .string({ description: 'Floor, such as Upstairs; an empty text takes it away', maxLength: 64, isGivenName: true })
          .optional(),
        aliases: aliasesParameter.optional(),
      },
      returns: resultSchema({ area: TEXT, floor: { type: ['string', 'null'] }, aliases: TEXTS }),
      restorable: ({ area }) => ({
        path: `area_names/${areaKey(area)}`,
        now: () => {
          const known = areaNamed(area, parts);
          if (known === undefined) return undefined;
          const { floor = '', aliases } = parts.names.areaNames(known);
          return { floor, aliases: [...aliases] };
        },
        restore: (before) => ({ tool: 'hub:describe_area', params: { ...objectOf(before), area } }),
      }),
    },
    async ({ area, floor, aliases }) => {
      const { names } = parts;
      const known = resolveArea(area, areasOf(parts), names);
      const before = names.areaNames(known);
      const wanted = floor === undefined ? before.floor : floor.trim();
      const after = names.describeArea(known, { aliases: aliases ?? before.aliases, ...(wanted ? { floor: wanted } : {}) });
      return { area: known, floor: after.floor ?? null, aliases: [...after.aliases] };
    },
  );
}

const namesInOrder = (description: string) =>
  p.array(p.string({ description: 'Name', minLength: 1, maxLength: 64 }), { description, maxItems: 200 }).optional();

function orderAreasTool(parts: HomeNameServices): RegisteredTool {
  return defineTool(
    {
      ...ACTS_ON_HUB,
      name: 'order_areas',
      title: 'Order rooms and floors',
      description:
        'Sets the order in which the page and lists show rooms and floors, for everybody. What is left out comes after the others, by name.',
      tags: ['area', 'room', 'floor', 'order', 'sort'],
      isIdempotent: true,
      parameters: {
        areas: namesInOrder('Areas, the first one first; left out: their order stays'),
        floors: namesInOrder('Floors, the lowest or the first one first; left out: their order stays'),
      },
      returns: resultSchema({ areas: TEXTS, floors: TEXTS }),
      restorable: () => ({
        path: 'area_order',
        now: () => ({ areas: [...parts.names.order().areas], floors: [...parts.names.order().floors] }),
        restore: (before) => ({ tool: 'hub:order_areas', params: presentOrder(parts, objectOf(before)) }),
      }),
    },
    async ({ areas, floors }) => {
      const { names } = parts;
      const known = distinctAreas(areasOf(parts));
      const before = names.order();
      const wanted = areas?.map((area) => resolveArea(area, known, names)) ?? before.areas;
      names.setOrder({ areas: wanted, floors: floors?.map((floor) => knownFloor(floor, known, names)) ?? before.floors });
      const sorted = inHomeOrder(known, names);
      return { areas: [...sorted], floors: [...floorsInOrder(sorted, names)] };
    },
  );
}

/** Returns an order without the areas and floors that are no longer there, which the tool would refuse. */
function presentOrder(parts: HomeNameServices, { areas, floors }: JsonObject): JsonObject {
  const { names } = parts;
  const known = distinctAreas(areasOf(parts));
  const there = new Set(floorsInOrder(known, names).map(foldedName));
  return {
    areas: textsOf(areas).filter((area) => areaNamed(area, parts) !== undefined),
    floors: textsOf(floors).filter((floor) => there.has(foldedName(floor))),
  };
}

function knownFloor(text: string, areas: readonly string[], names: HomeNames): string {
  const floors = floorsInOrder(areas, names);
  const floor = floors.find((one) => foldedName(one) === foldedName(text));
  if (floor !== undefined) return floor;
  throw new AtmoError('NOT_FOUND', `No area is on a floor ${JSON.stringify(text)}; the floors are ${floors.join(', ') || 'none'}`);
}

function renameAreaTool(parts: HomeNameServices): RegisteredTool {
  return defineTool(
    {
      ...ACTS_ON_HUB,
      name: 'rename_area',
      title: 'Rename a room',
      description:
        'Gives a room another name: all that is in it moves along, and the old name goes on meaning it, for people, agents, grants and rules. Where there is a room of the new name already, the two become one only with merge, and not while grants, rules, automations or tools name the old one.',
      tags: ['area', 'room', 'rename', 'merge'],
      parameters: {
        area: p.string({ description: 'Area that a device or sensor is in', minLength: 1, maxLength: 64 }),
        name: p.string({ description: 'Its new name', minLength: 1, maxLength: 64, isGivenName: true }),
        merge: p.boolean({ description: 'Join it to the room that has that name already', default: false }),
      },
      returns: resultSchema({
        area: TEXT,
        moved: { ...TEXTS, description: 'Ids of the devices that moved along; none where the room has that name already' },
        former_names: { ...TEXTS, description: 'What goes on meaning the room' },
        used_by: REFERENCES,
      }),
      restorable: ({ area, name }) => ({
        path: `area_name/${areaKey(area)}`,
        now: () => {
          const known = areaNamed(area, parts);
          // Rooms that become one stay one: nothing says what was in which.
          return known !== undefined && otherArea(parts, known, name) === undefined ? known : undefined;
        },
        restore: (before) => ({ tool: 'hub:rename_area', params: { area, name: before } }),
      }),
    },
    async ({ area, name, merge }) => {
      const { administration, directory, names } = parts;
      const devices = directory.list();
      const known = resolveArea(area, areasOf(parts), names);
      const { there, usedBy } = requireRenamable(parts, { known, name, isMerge: merge });
      const today = there ?? name;
      const moved = today === known ? [] : devices.filter((device) => device.area !== undefined && areaKey(device.area) === areaKey(known));
      names.renameArea(known, today, { isJoined: there !== undefined });
      // In the configuration, the area of a board device keeps its former name. The hub replaces this name whenever it reads the area.
      for (const { id, kind } of moved) if (kind !== 'board') administration.setArea(id, today);
      const former_names = [...names.formerAreaNames(today)];
      return { area: today, moved: moved.map(({ id }) => id), former_names, used_by: usedBy.map(referenceView) };
    },
  );
}

function freeAreaNameTool(parts: HomeNameServices): RegisteredTool {
  return defineTool(
    {
      ...ACTS_ON_HUB,
      name: 'free_area_name',
      title: 'Free a former name of a room',
      description:
        'Frees a name that a room had before, so that another room can have it. ' +
        'What still uses it is told first, and has to be confirmed: it means nothing from then on, ' +
        'and another room when one gets the name. What a rule, token or setting uses, only the owner can free.',
      tags: ['area', 'room', 'name', 'former'],
      parameters: {
        name: p.string({ description: 'Former name of a room', minLength: 1, maxLength: 64 }),
        confirm: p.boolean({ description: 'Free it although something uses it', default: false }),
      },
      returns: resultSchema({ area: { ...TEXT, description: 'The room that had it' }, freed: TEXT, used_by: REFERENCES }),
    },
    async ({ name, confirm }, { principal }) => {
      const { names } = parts;
      const area = names.areaToday(name);
      if (!names.formerAreaNames(area).includes(areaKey(name)))
        throw new AtmoError('NOT_FOUND', `${JSON.stringify(name)} is not a former name of a room; atmo areas tells the names`);
      const usedBy = areaReferences(parts, [name]);
      requireMayFree(name, usedBy, principal);
      if (usedBy.length > 0 && !confirm) {
        throw nameInUse(
          'CONFLICT',
          `${name} is still used by ${describeReferences(usedBy)}. Write ${area} there first, or set confirm (--confirm of atmo)`,
          usedBy,
        );
      }
      names.freeArea(name);
      return { area, freed: name, used_by: usedBy.map(referenceView) };
    },
  );
}

/** Returns the area that is called so; undefined if there is none, or more than one. */
function areaNamed(text: string, parts: HomeNameServices): string | undefined {
  const [area, ...others] = distinctAreas(areasOf(parts)).filter((one) => isAreaNamed(text, one, parts.names));
  return others.length === 0 ? area : undefined;
}

/** Returns the area beside `known` that is called so. */
function otherArea(parts: HomeNameServices, known: string, name: string): string | undefined {
  return distinctAreas(areasOf(parts)).find((area) => areaKey(area) !== areaKey(known) && isAreaNamed(name, area, parts.names));
}

/** Returns the areas of all devices and sensors of this hub, undefined for one without an area. */
export function areasOf({ directory, readings }: Pick<HomeNameServices, 'directory' | 'readings'>): readonly (string | undefined)[] {
  return [...directory.list(), ...readings.sensors().map(({ sensor }) => sensor)].map(({ area }) => area);
}

/**
 * Throws CONFLICT if the new name is a former name of another area, or if an area has the new name and `isMerge` is not set. Also throws
 * CONFLICT for a merge if a grant, rule, automation or tool uses the old name, because the merge would change what that name means.
 */
function requireRenamable(
  parts: HomeNameServices,
  { known, name, isMerge }: { readonly known: string; readonly name: string; readonly isMerge: boolean },
): { readonly there: string | undefined; readonly usedBy: readonly NameReference[] } {
  const { names } = parts;
  const usedBy = areaReferences(parts, [known, ...names.formerAreaNames(known), name]);
  const key = areaKey(name);
  const today = names.areaToday(name);
  const there = otherArea(parts, known, name);
  if (there === undefined && areaKey(today) !== key && areaKey(today) !== areaKey(known))
    throw new AtmoError('CONFLICT', `${name} is a former name of ${today}; free it first: free_area_name (atmo area free-name)`);
  if (there === undefined) return { there, usedBy };
  if (!isMerge) {
    throw new AtmoError('CONFLICT', `There is a room ${there} already. Choose another name, or join them with merge (--merge of atmo)`, {
      area: there,
    });
  }
  const ofOld = areaReferences(parts, [known, ...names.formerAreaNames(known)]).filter(({ isPlace }) => !isPlace);
  if (ofOld.length === 0) return { there, usedBy };
  throw nameInUse(
    'CONFLICT',
    `${known} is named by ${describeReferences(ofOld)}. Write ${there} there first, where it is meant, and then join the rooms`,
    ofOld,
  );
}

function areaReferences({ uses }: HomeNameServices, names: readonly string[]): readonly NameReference[] {
  return uses.of({ areas: names.map(areaKey), texts: [], tools: [] });
}
