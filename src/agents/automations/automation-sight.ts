import type { Authorizer } from '../../core/access/authorizer.ts';
import type { Principal } from '../../core/access/principal.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { ReadingStore } from '../../core/devices/reading-store.ts';
import { AtmoError } from '../../core/errors.ts';
import { parseDeviceId, parseSensorId } from '../../core/ids.ts';
import { canSeeDevice } from '../../tools/places/resolve-device.ts';
import { callerView } from '../../tools/visibility.ts';
import type { AutomationPlan, Condition, Trigger } from './automation-config.ts';

interface SightPorts {
  readonly authorizer: Authorizer;
  readonly readings: Pick<ReadingStore, 'current'>;
  readonly devices: Pick<DeviceDirectory, 'get'>;
}

/**
 * May this principal learn what the trigger or condition is about? A value is more than the knowledge that there is one:
 * it takes the very permission to read it. Time is everybody's.
 */
export function maySense(about: Trigger | Condition, principal: Principal, authorizer: Authorizer): boolean {
  if ('sensor_id' in about) return authorizer.authorize(principal, [`sensor:read:${about.sensor_id}`]).allowed;
  return 'device_id' in about ? canSeeDevice(parseDeviceId(about.device_id), callerView(principal, authorizer)) : true;
}

/** SENSOR_NOT_FOUND or DEVICE_NOT_FOUND for what there is not, and in the same words for what the principal may not see. */
export function requireSight(plan: AutomationPlan, principal: Principal, ports: SightPorts): void {
  for (const about of [...plan.triggers, ...plan.conditions]) {
    if (isThere(about, ports) && maySense(about, principal, ports.authorizer)) continue;
    if ('sensor_id' in about) {
      throw new AtmoError(
        'SENSOR_NOT_FOUND',
        `The permissions of this agent show it no sensor ${JSON.stringify(about.sensor_id)}; write the id of one, as list_sensors tells it`,
      );
    }
    const device = 'device_id' in about ? about.device_id : '';
    throw new AtmoError(
      'DEVICE_NOT_FOUND',
      `The permissions of this agent show it no device ${JSON.stringify(device)}; write the id of one`,
    );
  }
}

function isThere(about: Trigger | Condition, { readings, devices }: SightPorts): boolean {
  if ('sensor_id' in about) return readings.current(parseSensorId(about.sensor_id)) !== undefined;
  return 'device_id' in about ? devices.get(parseDeviceId(about.device_id)) !== undefined : true;
}
