import type { Service } from '../service.ts';
import type { DeviceAdministration } from './device-administration.ts';
import type { DeviceAccess, DeviceDirectory } from './device-directory.ts';

/** Port: a room that brings devices, with all that can be done with them. */
export interface DeviceRoom extends Service {
  readonly directory: DeviceDirectory;
  readonly access: DeviceAccess;
  readonly administration: DeviceAdministration;
}
