import type { ChangeNotificationService } from '@matter/main/node';
import type { DeviceEvent } from '../../core/devices/device-model.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { toJson } from '../model/value-codec.ts';
import type { NodeDevices } from './node-devices.ts';
import { clusterOf } from './peer-clusters.ts';

// Devices without a clock count from their own start; nothing happened before this year.
const FIRST_PLAUSIBLE_MS = Date.UTC(2020, 0, 1);

/** An event record of a node as callers see it; undefined for events of clusters or endpoints that are not known. */
export function deviceEvent(node: NodeDevices, change: ChangeNotificationService.EventOccurrence, nowMs: number): DeviceEvent | undefined {
  const known = node.holding(change.endpoint.number);
  const cluster = clusterOf(change.endpoint, change.behavior.id);
  const event = cluster && [...cluster.shape.events.values()].find(({ id }) => id === change.event.id);
  if (known === undefined || cluster === undefined || event === undefined) return undefined;
  return {
    device: known.device.id,
    endpoint: change.endpoint.number,
    cluster: cluster.shape.name,
    event: event.name,
    data: payload(toJson(event.shape, change.payload)),
    atMs: plausible(Number(change.timestamp), nowMs),
  };
}

function payload(json: ReturnType<typeof toJson>): JsonObject {
  return isJsonObject(json) ? json : {};
}

function plausible(atMs: number, nowMs: number): number {
  return atMs >= FIRST_PLAUSIBLE_MS && atMs <= nowMs ? atMs : nowMs;
}
