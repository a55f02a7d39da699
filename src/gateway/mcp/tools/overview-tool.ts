import { areaKey } from '../../../core/devices/device-facts.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { RegisteredTool } from '../../../tools/definition/tool-definition.ts';
import type { MeshPorts } from '../../../tools/elsewhere/mesh-outlook.ts';
import { p } from '../../../tools/schema/parameter-builder.ts';
import type { CallerSight } from '../../devices/caller-sight.ts';
import type { ToolCatalogue } from '../../tools/tool-catalogue.ts';
import { successResult } from '../calls/tool-result.ts';
import { areaOverview, homeOverview } from './home-overview.ts';
import { type HomeTool, homeTool } from './home-tool.ts';

/** What the overview is made of. */
interface OverviewParts {
  readonly sight: CallerSight;
  readonly catalogue: Pick<ToolCatalogue, 'visibleTo'>;
  /** Tools of other hubs. */
  readonly outlook: Pick<MeshPorts, 'tools'>;
}

/** `home_overview`: where everybody starts. */
export function overviewTool({ sight, catalogue, outlook }: OverviewParts): HomeTool {
  return homeTool(
    {
      name: 'home_overview',
      title: 'Home at a glance',
      description:
        'Areas with their devices, what is on or open, alarms, and what cannot be reached. With an area: each device there with its id and present values. Start here.',
      parameters: { area: p.string({ description: 'Only this area', maxLength: 64 }).optional() },
    },
    async ({ area }, { principal }) => {
      const home = { devices: sight.devices(principal), readings: sight.readings(principal) };
      if (area === undefined) {
        await outlook.tools.whole();
        return successResult({ ...homeOverview(home), ...elsewhere(outlook.tools.all().filter(catalogue.visibleTo(principal))) });
      }
      const name = sight.area(principal, area);
      const devices = home.devices.filter((device) => device.area !== undefined && areaKey(device.area) === areaKey(name));
      const ids = new Set(devices.map(({ id }) => id));
      return successResult(areaOverview(name, { devices, readings: home.readings.filter(({ sensor }) => ids.has(sensor.device)) }));
    },
  );
}

/** Devices of other hubs are not in the overview; who has none of their own has to hear where to look. */
function elsewhere(tools: readonly RegisteredTool[]): JsonObject {
  const count = tools.filter(({ definition }) => definition.metadata.device !== undefined).length;
  return count === 0 ? {} : { other_hubs: { device_tools: count, how: 'search_tools finds them, and they run from here' } };
}
