import type { DeviceType } from './part.ts';
import * as lights from './types/lights.ts';

/** Every kind of device that a home can hold, by the name used in home.json. */
export const DEVICE_TYPES: Readonly<Record<string, DeviceType>> = {
  'on-off-light': lights.ON_OFF_LIGHT,
  'dimmable-light': lights.DIMMABLE_LIGHT,
  'color-temperature-light': lights.COLOR_TEMPERATURE_LIGHT,
  'extended-color-light': lights.EXTENDED_COLOR_LIGHT,
};
