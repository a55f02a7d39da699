import { ExtractorHoodDevice } from '@matter/main/devices/extractor-hood';
import { FanDevice } from '@matter/main/devices/fan';
import type { DeviceType } from '../part.ts';
import { FAN_STATE, SpeedFan } from './speed-fan.ts';

export const FAN: DeviceType = { parts: [{ id: 'fan', type: FanDevice.with(SpeedFan), state: { fanControl: FAN_STATE } }] };

export const EXTRACTOR_HOOD: DeviceType = {
  parts: [{ id: 'hood', type: ExtractorHoodDevice.with(SpeedFan), state: { fanControl: FAN_STATE } }],
};
