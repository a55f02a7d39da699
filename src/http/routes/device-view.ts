import { isoTime } from '../../core/clock.ts';
import type { ClusterDescription, Device, EndpointDescription } from '../../core/devices/device-model.ts';
import { type HomeNames, NO_HOME_NAMES } from '../../core/devices/device-names.ts';
import type { Reading } from '../../core/devices/sensor-readings.ts';
import type { DeviceId } from '../../core/ids.ts';

/** Returns a time in the API's format. Returns null for 0, which means "never". */
export function timeText(atMs: number): string | null {
  return atMs === 0 ? null : isoTime(atMs);
}

interface DeviceViewContext {
  readonly nowMs: number;
  /** Returns whether the caller may see a device. If the caller may not see a device's bridge, the response omits the bridge. */
  readonly maySee: (device: DeviceId) => boolean;
  /** Aliases, former names and tool prefixes of devices, and floors of areas; default: none. */
  readonly names?: HomeNames;
}

/** Returns a device in the API's format. The id of its Matter node is named `matter_node_id`, because `node_id` means a hub's id. */
export function deviceView(device: Device, { nowMs, maySee, names = NO_HOME_NAMES }: DeviceViewContext) {
  return {
    id: device.id,
    name: device.name,
    aliases: names.deviceAliases(device.id),
    former_names: names.formerNames(device.id),
    tools_begin_with: names.toolPrefix(device.id),
    area: device.area ?? null,
    floor: (device.area === undefined ? undefined : names.areaNames(device.area).floor) ?? null,
    kind: device.kind,
    matter_node_id: device.nodeId,
    parent: device.parent !== undefined && maySee(device.parent) ? device.parent : undefined,
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

/** Returns an endpoint with the names of its clusters, attributes, commands and events. Their schemas are in the device's tools. */
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

/** Returns a sensor with its current value and the age of the value. */
export function readingView({ sensor, value, atMs, reachability }: Reading, nowMs: number) {
  return {
    id: sensor.id,
    device: sensor.device,
    name: sensor.name,
    title: sensor.title,
    kind: sensor.kind,
    unit: sensor.unit,
    area: sensor.area ?? null,
    value,
    at: timeText(atMs),
    age_ms: atMs === 0 ? null : Math.max(0, nowMs - atMs),
    reachability,
  };
}
