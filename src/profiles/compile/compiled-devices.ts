import type { DeviceDescription } from '../../core/devices/device-model.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { CompiledDevice } from './compiled-device.ts';

/** What profiles made of the devices that are here. */
export interface CompiledDevices {
  get(id: DeviceId): CompiledDevice | undefined;
  list(): readonly CompiledDevice[];
  describe(id: DeviceId): DeviceDescription | undefined;
}
