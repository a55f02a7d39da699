import '../../../src/matter/model/data-model.ts';
import { DishwasherAlarmServer } from '@matter/main/behaviors/dishwasher-alarm';
import { DishwasherModeServer } from '@matter/main/behaviors/dishwasher-mode';
import { LaundryWasherControlsServer } from '@matter/main/behaviors/laundry-washer-controls';
import { LaundryWasherModeServer } from '@matter/main/behaviors/laundry-washer-mode';
import { OnOffServer } from '@matter/main/behaviors/on-off';
import { DishwasherDevice } from '@matter/main/devices/dishwasher';
import { LaundryWasherDevice } from '@matter/main/devices/laundry-washer';
import type { DeviceType } from '../part.ts';
import { mode, NORMAL } from './mode.ts';
import { Appliance, OPERATIONAL_STATE } from './operational-state.ts';
import { LevelControlled } from './temperature-control.ts';

const TEMPERATURE_LEVELS = { supportedTemperatureLevels: ['Cold', 'Warm', 'Hot'], selectedTemperatureLevel: 1 };

export const LAUNDRY_WASHER: DeviceType = {
  parts: [
    {
      id: 'washer',
      type: LaundryWasherDevice.with(
        Appliance,
        OnOffServer.with('DeadFrontBehavior'),
        LaundryWasherModeServer,
        LaundryWasherControlsServer.with('Spin', 'Rinse'),
        LevelControlled,
      ),
      state: {
        onOff: { onOff: true },
        operationalState: OPERATIONAL_STATE,
        laundryWasherMode: {
          supportedModes: [mode(0, 'Normal', NORMAL), mode(1, 'Delicate', 0x4001), mode(2, 'Whites', 0x4003)],
          currentMode: 0,
        },
        laundryWasherControls: {
          spinSpeeds: ['Off', '800 rpm', '1200 rpm'],
          spinSpeedCurrent: 1,
          numberOfRinses: 1,
          supportedRinses: [0, 1, 2],
        },
        temperatureControl: TEMPERATURE_LEVELS,
      },
    },
  ],
};

export const DISHWASHER: DeviceType = {
  parts: [
    {
      id: 'dishwasher',
      type: DishwasherDevice.with(
        Appliance,
        OnOffServer.with('DeadFrontBehavior'),
        DishwasherModeServer,
        DishwasherAlarmServer,
        LevelControlled,
      ),
      state: {
        onOff: { onOff: true },
        operationalState: OPERATIONAL_STATE,
        dishwasherMode: {
          supportedModes: [mode(0, 'Normal', NORMAL), mode(1, 'Heavy', 0x4001), mode(2, 'Light', 0x4002)],
          currentMode: 0,
        },
        dishwasherAlarm: { mask: { doorError: true }, supported: { doorError: true }, state: {} },
        temperatureControl: TEMPERATURE_LEVELS,
      },
    },
  ],
};
