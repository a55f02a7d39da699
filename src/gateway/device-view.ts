import type { DeviceDirectory } from '../core/device-directory.ts';
import type { ClusterDescription, Device, EndpointDescription } from '../core/device-model.ts';
import { nearestTexts } from '../core/edit-distance.ts';
import { AtmoError } from '../core/errors.ts';

/** A time as the API tells it; null for "never". */
export function timeText(atMs: number): string | null {
  return atMs === 0 ? null : new Date(atMs).toISOString();
}

/** A device in the API's form. `matter_node_id` is the device's number in the fabric, `node_id` elsewhere always means a hub. */
export function deviceView(device: Device, nowMs: number) {
  return {
    id: device.id,
    name: device.name,
    area: device.area ?? null,
    kind: device.kind,
    matter_node_id: device.nodeId,
    parent: device.parent,
    vendor: device.vendor,
    product: device.product,
    serial: device.serial,
    software_version: device.softwareVersion,
    device_types: device.deviceTypes,
    reachability: device.reachability,
    last_seen: timeText(device.lastSeenMs),
    age_ms: device.lastSeenMs === 0 ? null : Math.max(0, nowMs - device.lastSeenMs),
    is_sleepy: device.isSleepy,
  };
}

/** What an endpoint has, by name; the schemas are in the tools. */
export function endpointView(endpoint: EndpointDescription) {
  return {
    endpoint: endpoint.endpoint,
    device_types: endpoint.deviceTypes.map((type) => type.name),
    tags: endpoint.tags,
    clusters: endpoint.clusters.map(clusterView),
  };
}

function clusterView(cluster: ClusterDescription) {
  return {
    id: cluster.id,
    name: cluster.name,
    revision: cluster.revision,
    features: cluster.features,
    attributes: cluster.attributes.map(({ name, writable }) => ({ name, writable })),
    commands: cluster.commands.map((command) => command.name),
    events: cluster.events.map((event) => event.name),
  };
}

/** Finds a device by its id, else by its name; DEVICE_NOT_FOUND and AMBIGUOUS_DEVICE say which there are. */
export function findDevice(directory: DeviceDirectory, text: string): Device {
  const devices = directory.list();
  const byId = devices.find((device) => device.id === text);
  if (byId) return byId;
  const named = devices.filter((device) => device.name.toLowerCase() === text.toLowerCase());
  const [only] = named;
  if (only && named.length === 1) return only;
  const ids = named.map((device) => device.id);
  if (ids.length > 1)
    throw new AtmoError('AMBIGUOUS_DEVICE', `${JSON.stringify(text)} fits ${ids.join(', ')}; use an id`, { devices: ids });
  const near = nearestTexts(
    text,
    devices.map((device) => device.id),
  );
  const hint = near.length > 0 ? `; near it are ${near.join(', ')}` : '; GET /api/v1/devices lists them';
  throw new AtmoError('DEVICE_NOT_FOUND', `There is no device ${JSON.stringify(text.slice(0, 64))}${hint}`, { nearest: [...near] });
}
