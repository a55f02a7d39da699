import type { JsonObject } from '../../core/json.ts';
import type { BridgeTopics } from './bridge-topics.ts';
import type { BridgedDevice, HomeEntity } from './home-entity.ts';

/** Whose home it is. */
export interface BridgedHub {
  readonly name: string;
  readonly version: string;
}

/** Topic and payload with which Home Assistant learns of an entity. */
export function announcementOf(
  entity: HomeEntity,
  device: BridgedDevice,
  { topics, hub }: { readonly topics: BridgeTopics; readonly hub: BridgedHub },
): readonly [topic: string, payload: string] {
  const { component, main, config } = entity;
  const id = main.sensor.id.replaceAll('/', '_');
  const payload: JsonObject = {
    name: entityName(entity, device),
    unique_id: `${topics.node}_${id}`,
    ...(component !== 'climate' && component !== 'cover' && { state_topic: topics.state(main.sensor.id) }),
    ...config,
    availability: [{ topic: topics.status }, { topic: topics.available(device.id) }],
    availability_mode: 'all',
    device: deviceFacts(device, topics),
    origin: { name: 'atmosphere-edge', sw_version: hub.version },
  };
  return [topics.announcement(component, id), JSON.stringify(payload)];
}

/** What is the device itself has no name of its own (home-assistant.io, has_entity_name). */
function entityName({ component, main }: HomeEntity, { readings }: BridgedDevice): string | null {
  const isDevice = component !== 'sensor' && component !== 'binary_sensor';
  const hasOthers = readings.some((other) => other !== main && /^is_on/.test(other.sensor.name));
  if (isDevice && !hasOthers) return null;
  const words = main.sensor.name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function deviceFacts({ id, device, readings }: BridgedDevice, { node }: BridgeTopics): JsonObject {
  const area = device?.area ?? readings[0]?.sensor.area;
  return {
    identifiers: [`${node}_${id}`],
    name: device?.name ?? id,
    ...(device && { manufacturer: device.vendor.name, model: device.product.name }),
    ...(device?.softwareVersion !== undefined && { sw_version: device.softwareVersion }),
    ...(area !== undefined && { suggested_area: area }),
  };
}
