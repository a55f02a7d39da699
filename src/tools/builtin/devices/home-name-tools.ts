import type { DeviceDirectory } from '../../../core/devices/device-directory.ts';
import type { AreaNames, HomeNames } from '../../../core/devices/home-names.ts';
import { defineTool } from '../../definition/define-tool.ts';
import type { RegisteredTool } from '../../definition/tool-definition.ts';
import { resolveArea } from '../../places/resolve-area.ts';
import type { DeviceNames } from '../../places/resolve-device.ts';
import { p } from '../../schema/parameter-builder.ts';
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
      const known = resolveArea(
        area,
        directory.list().map((device) => device.area),
        names,
      );
      const before = names.areaNames(known);
      const wanted = floor === undefined ? before.floor : floor.trim();
      const after = names.describeArea(known, { aliases: aliases ?? before.aliases, ...(wanted ? { floor: wanted } : {}) });
      return { area: known, floor: after.floor ?? null, aliases: [...after.aliases] };
    },
  );
}
