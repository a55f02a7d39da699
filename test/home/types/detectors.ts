import { RainSensorDevice } from '@matter/main/devices/rain-sensor';
import { WaterFreezeDetectorDevice } from '@matter/main/devices/water-freeze-detector';
import type { DeviceType } from '../part.ts';

/** No frost: true would be a danger. */
export const WATER_FREEZE_DETECTOR: DeviceType = {
  parts: [{ id: 'freeze', type: WaterFreezeDetectorDevice, state: { booleanState: { stateValue: false } } }],
};

/** Dry weather. */
export const RAIN_SENSOR: DeviceType = {
  parts: [{ id: 'rain', type: RainSensorDevice, state: { booleanState: { stateValue: false } } }],
};
