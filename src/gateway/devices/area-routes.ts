import { areaKey } from '../../core/devices/device-facts.ts';
import { compareText } from '../../core/edit-distance.ts';
import { json } from '../door/answer.ts';
import { defineRoute, type Route } from '../door/route.ts';
import type { CallerSight } from './caller-sight.ts';

/** Areas with their floors and other names, and the devices there. */
export function areaRoutes({ sight }: { readonly sight: CallerSight }): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/areas',
      isDocument: true,
      summary: 'Every area that the caller knows a device or sensor of, with its floor, other names and devices',
      answers: { 200: { description: 'areas', schema: { $ref: '#/components/schemas/Areas' } } },
      handle({ principal }) {
        const devicesIn = Map.groupBy(sight.devices(principal), ({ area }) => area !== undefined && areaKey(area));
        const areas = sight.areas(principal).toSorted(compareText);
        return json({
          areas: areas.map((area) => {
            const { floor = null, aliases } = sight.names.areaNames(area);
            return { area, floor, aliases, devices: (devicesIn.get(areaKey(area)) ?? []).map(({ id }) => id) };
          }),
        });
      },
    }),
  ];
}
