import { areaKey } from '../../../core/device-facts.ts';
import { p } from '../../../tools/schema/parameter-builder.ts';
import type { CallerSight } from '../../devices/caller-sight.ts';
import { successResult } from '../calls/tool-result.ts';
import { areaOverview, homeOverview } from './home-overview.ts';
import { type HomeTool, homeTool } from './home-tool.ts';

/** `home_overview`: where everybody starts. */
export function overviewTool({ sight }: { readonly sight: CallerSight }): HomeTool {
  return homeTool(
    {
      name: 'home_overview',
      title: 'Home at a glance',
      description:
        'Areas with their devices, what is on or open, alarms, and what cannot be reached. With an area: each device there with its id and present values. Start here.',
      parameters: { area: p.string({ description: 'Only this area, such as Kitchen', maxLength: 64 }).optional() },
    },
    ({ area }, { principal }) => {
      const home = { devices: sight.devices(principal), readings: sight.readings(principal) };
      if (area === undefined) return successResult(homeOverview(home));
      const name = sight.area(principal, area);
      const devices = home.devices.filter((device) => device.area !== undefined && areaKey(device.area) === areaKey(name));
      const ids = new Set(devices.map(({ id }) => id));
      return successResult(areaOverview(name, { devices, readings: home.readings.filter(({ sensor }) => ids.has(sensor.device)) }));
    },
  );
}
