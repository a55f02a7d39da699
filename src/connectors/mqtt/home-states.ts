import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { Reading, SensorInfo } from '../../core/devices/reading-store.ts';
import { parseDeviceId } from '../../core/ids.ts';
import { announcementOf, type BridgedHub } from './announcement.ts';
import type { BridgeTopics } from './bridge-topics.ts';
import { statePayload } from './bridge-value.ts';
import { type BridgedDevice, entitiesOf } from './home-entity.ts';

/** What the home on the broker is made from. */
export interface HomeFacts {
  readonly readings: readonly Reading[];
  readonly devices: Pick<DeviceDirectory, 'get'>;
  readonly hub: BridgedHub;
  readonly isControlled: (sensor: SensorInfo) => boolean;
}

/** Everything that the broker has to keep for the home as it is now: payloads by topic. */
export function homeStates({ readings, devices, hub, isControlled }: HomeFacts, topics: BridgeTopics): ReadonlyMap<string, string> {
  const states = new Map<string, string>();
  for (const [id, own] of Map.groupBy(readings, ({ sensor }) => sensor.device)) {
    const device = devices.get(parseDeviceId(id));
    const bridged: BridgedDevice = { id, readings: own, ...(device && { device }), isControlled };
    for (const entity of entitiesOf(bridged, topics)) states.set(...announcementOf(entity, bridged, { topics, hub }));
    const isAway = own.every(({ reachability }) => reachability === 'unreachable');
    states.set(topics.available(id), isAway ? 'offline' : 'online');
    for (const reading of own) states.set(topics.state(reading.sensor.id), statePayload(reading));
  }
  return states;
}
