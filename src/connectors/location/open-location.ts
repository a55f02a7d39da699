import { AtmoError } from '../../core/errors.ts';
import { isoTime } from '../../core/time/iso-time.ts';
import { defineTool } from '../../tools/definition/define-tool.ts';
import { withoutSetting } from '../../tools/definition/missing-setting.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { p } from '../../tools/schema/parameter-builder.ts';
import type { Connector, ConnectorGround } from '../connector.ts';
import type { ConnectorsConfig } from '../connector-config.ts';
import { knownTo } from '../models/held-permissions.ts';
import { Places } from './places.ts';
import { ACCURACIES, rounded } from './position.ts';

const LIMIT_MS = 15_000;

/** `get_location` (source 000 §5) over coordinates that the owner wrote down, and gpsd. CONFIG_INVALID for a place that is none. */
export function openLocation({ clock }: Pick<ConnectorGround, 'clock'>, { location }: Pick<ConnectorsConfig, 'location'>): Connector {
  const tool = locationTool(new Places(location, clock));
  if (location === undefined) return { tools: [withoutSetting(tool, 'set connectors.location in the configuration')] };
  return { tools: [tool], capabilities: [{ type: 'location_access', description: () => 'Where the hub and its devices are' }] };
}

function locationTool(places: Places): RegisteredTool {
  return defineTool(
    {
      name: 'get_location',
      title: 'Get location',
      description:
        'Tells where the hub or a device is, in degrees of WGS 84. Use it for the weather, the sun or a way; coarse is enough for the ' +
        'first two.',
      category: 'sensing',
      capabilities: ['location_access'],
      permissions: ['location:read:{device_id}'],
      hasSideEffects: false,
      timeoutMs: LIMIT_MS,
      retries: 0,
      preferLocal: true,
      tags: ['location', 'gps', 'place'],
      examples: [{ description: 'For the weather', params: { accuracy: 'coarse' } }],
      parameters: {
        device_id: p.string({
          description: 'hub, or a device whose place is configured',
          pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$',
          default: 'hub',
        }),
        accuracy: p.enum(ACCURACIES, {
          description: 'coarse: about a kilometre; balanced: about a hundred metres; precise: as it is known',
          default: 'balanced',
        }),
      },
      returns: {
        type: 'object',
        required: ['lat', 'lon', 'accuracy_m', 'source'],
        properties: {
          lat: { type: 'number', 'x-unit': '°' },
          lon: { type: 'number', 'x-unit': '°' },
          accuracy_m: { type: 'number', 'x-unit': 'm' },
          source: { enum: ['configured', 'receiver'] },
          timestamp: { type: 'string', format: 'date-time', description: 'When a receiver found it' },
        },
      },
    },
    async ({ device_id: id, accuracy }, { signal, permissions }) => {
      requirePlace(places, id, permissions);
      const { latitude: lat, longitude: lon, accuracyM, atMs } = rounded(await places.locate(id, signal), accuracy);
      const found = atMs === undefined ? { source: 'configured' } : { source: 'receiver', timestamp: isoTime(atMs) };
      return { lat, lon, accuracy_m: accuracyM, ...found };
    },
  );
}

/** DEVICE_NOT_FOUND with the places that the caller may know, when there is none of this id. */
function requirePlace(places: Places, id: string, grants: readonly string[]): void {
  if (places.ids().includes(id)) return;
  const candidates = knownTo(grants, 'location:read', places.ids());
  const known = candidates.length === 0 ? '' : `; known are ${candidates.join(', ')}`;
  throw new AtmoError('DEVICE_NOT_FOUND', `Where ${id} is, is not known at this hub${known}`, { candidates });
}
