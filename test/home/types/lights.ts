import { ColorTemperatureLightDevice } from '@matter/main/devices/color-temperature-light';
import { DimmableLightDevice } from '@matter/main/devices/dimmable-light';
import { ExtendedColorLightDevice } from '@matter/main/devices/extended-color-light';
import { OnOffLightDevice } from '@matter/main/devices/on-off-light';
import type { DeviceType } from '../part.ts';

const LEVEL = { currentLevel: 254, minLevel: 1, maxLevel: 254, onLevel: null, startUpCurrentLevel: null };
const WHITE = {
  colorTempPhysicalMinMireds: 153,
  colorTempPhysicalMaxMireds: 500,
  coupleColorTempToLevelMinMireds: 153,
  startUpColorTemperatureMireds: null,
  colorMode: 2,
  enhancedColorMode: 2,
  colorTemperatureMireds: 250,
};

export const ON_OFF_LIGHT: DeviceType = { parts: [{ id: 'light', type: OnOffLightDevice }] };

export const DIMMABLE_LIGHT: DeviceType = { parts: [{ id: 'light', type: DimmableLightDevice, state: { levelControl: LEVEL } }] };

export const COLOR_TEMPERATURE_LIGHT: DeviceType = {
  parts: [{ id: 'light', type: ColorTemperatureLightDevice, state: { levelControl: LEVEL, colorControl: WHITE } }],
};

export const EXTENDED_COLOR_LIGHT: DeviceType = {
  parts: [{ id: 'light', type: ExtendedColorLightDevice, state: { levelControl: LEVEL, colorControl: WHITE } }],
};
