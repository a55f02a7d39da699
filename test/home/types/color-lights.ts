import { ColorControlServer } from '@matter/main/behaviors/color-control';
import { ColorTemperatureLightDevice } from '@matter/main/devices/color-temperature-light';
import { ExtendedColorLightDevice } from '@matter/main/devices/extended-color-light';
import type { DeviceType } from '../part.ts';
import { LEVEL } from './level.ts';

const WHITE = {
  colorTempPhysicalMinMireds: 153,
  colorTempPhysicalMaxMireds: 500,
  coupleColorTempToLevelMinMireds: 153,
  startUpColorTemperatureMireds: null,
  colorMode: 2,
  enhancedColorMode: 2,
  colorTemperatureMireds: 250,
};

export const COLOR_TEMPERATURE_LIGHT: DeviceType = {
  parts: [{ id: 'light', type: ColorTemperatureLightDevice, state: { levelControl: LEVEL, colorControl: WHITE } }],
};

/** Takes hue and saturation, XY and white. */
export const EXTENDED_COLOR_LIGHT: DeviceType = {
  parts: [
    {
      id: 'light',
      type: ExtendedColorLightDevice.with(ColorControlServer.with('HueSaturation', 'Xy', 'ColorTemperature')),
      state: { levelControl: LEVEL, colorControl: WHITE },
    },
  ],
};

/** Has no hue and saturation, as the standard allows: only XY and white. */
export const XY_COLOR_LIGHT: DeviceType = {
  parts: [{ id: 'light', type: ExtendedColorLightDevice, state: { levelControl: LEVEL, colorControl: WHITE } }],
};
