import type { DeviceDirectory } from '../../core/device-directory.ts';
import { areaKey } from '../../core/device-facts.ts';
import { nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import type { AreaNames, HomeNames } from '../../core/home-names.ts';
import { defineTool } from '../define-tool.ts';
import type { DeviceNames } from '../resolve-device.ts';
import { p } from '../schema/parameter-builder.ts';
import type { RegisteredTool } from '../tool-definition.ts';
import { deviceParameter, FOR_HUB, HUB_ACTS } from './admin-declaration.ts';

const MAX_ALIASES = 20;
const aliasesParameter = p.array(p.string({ description: 'Another name', minLength: 1, maxLength: 64 }), {
  description: 'All other names, in any language; an empty list takes them away',
  maxItems: MAX_ALIASES,
});
const texts = { type: 'array', items: { type: 'string' } } as const;

/** What the tools change. */
export interface HomeNamesEditor extends HomeNames {
  setDeviceAliases(device: string, aliases: readonly string[]): readonly string[];
  describeArea(area: string, names: AreaNames): AreaNames;
}

interface HomeNameParts {
  readonly names: HomeNamesEditor;
  readonly devices: DeviceNames;
  readonly directory: Pick<DeviceDirectory, 'list'>;
}

/** Tools that give devices and areas the names by which people look for them. */
export function homeNameTools(parts: HomeNameParts): readonly RegisteredTool[] {
  return [deviceAliasesTool(parts), describeAreaTool(parts)];
}

function deviceAliasesTool({ names, devices }: HomeNameParts): RegisteredTool {
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
      returns: { type: 'object', required: ['device_id', 'aliases'], properties: { device_id: { type: 'string' }, aliases: texts } },
      canonicalize: (params, caller) => ({ ...params, aliases: [...params.aliases], device_id: devices.resolve(params.device_id, caller) }),
    },
    async ({ device_id, aliases }) => ({ device_id, aliases: [...names.setDeviceAliases(device_id, aliases)] }),
  );
}

function describeAreaTool({ names, directory }: HomeNameParts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_HUB,
      name: 'describe_area',
      title: 'Describe an area',
      description:
        'Says on which floor an area is and what else people call it, so that "the lights upstairs" are found. What is left out stays as it is.',
      tags: ['floor', 'storey', 'alias', 'room'],
      isIdempotent: true,
      parameters: {
        area: p.string({ description: 'Area that a device is in', minLength: 1, maxLength: 64 }),
        floor: p.string({ description: 'Floor, such as Upstairs; an empty text takes it away', maxLength: 64 }).optional(),
        aliases: aliasesParameter.optional(),
      },
      returns: {
        type: 'object',
        required: ['area', 'floor', 'aliases'],
        properties: { area: { type: 'string' }, floor: { type: ['string', 'null'] }, aliases: texts },
      },
    },
    async ({ area, floor, aliases }) => {
      const known = requireArea(area, directory);
      const before = names.areaNames(known);
      const wanted = floor === undefined ? before.floor : floor.trim();
      const after = names.describeArea(known, { aliases: aliases ?? before.aliases, ...(wanted ? { floor: wanted } : {}) });
      return { area: known, floor: after.floor ?? null, aliases: [...after.aliases] };
    },
  );
}

/** The area as its devices write it. NOT_FOUND suggests. */
function requireArea(area: string, directory: Pick<DeviceDirectory, 'list'>): string {
  const areas = [...new Set(directory.list().flatMap((device) => device.area ?? []))];
  const known = areas.find((one) => areaKey(one) === areaKey(area));
  if (known !== undefined) return known;
  const near = nearestTexts(area, areas);
  const hint =
    near.length > 0
      ? `did you mean ${near.map((one) => JSON.stringify(one)).join(' or ')}?`
      : 'put a device there first, with hub:set_device_area';
  throw new AtmoError('NOT_FOUND', `No device is in an area ${JSON.stringify(area)}; ${hint}`, { suggestions: [...near] });
}
