import { DishwasherAlarmServer } from '@matter/main/behaviors/dishwasher-alarm';
import { DishwasherModeServer } from '@matter/main/behaviors/dishwasher-mode';
import { LaundryWasherControlsServer } from '@matter/main/behaviors/laundry-washer-controls';
import { LaundryWasherModeServer } from '@matter/main/behaviors/laundry-washer-mode';
import { MicrowaveOvenControlServer } from '@matter/main/behaviors/microwave-oven-control';
import { MicrowaveOvenModeServer } from '@matter/main/behaviors/microwave-oven-mode';
import { OnOffServer } from '@matter/main/behaviors/on-off';
import type { MicrowaveOvenControl } from '@matter/main/clusters/microwave-oven-control';
import { DishwasherDevice } from '@matter/main/devices/dishwasher';
import { LaundryWasherDevice } from '@matter/main/devices/laundry-washer';
import { MicrowaveOvenDevice } from '@matter/main/devices/microwave-oven';
import type { DeviceType } from '../part.ts';
import { Appliance, OPERATIONAL_STATE } from './operational-state.ts';
import { LevelControlled } from './temperature-control.ts';

const NORMAL = 0x4000;

const mode = (number: number, label: string, ...tags: readonly number[]): object => ({
  label,
  mode: number,
  modeTags: tags.map((value) => ({ value })),
});

const TEMPERATURE_LEVELS = { supportedTemperatureLevels: ['Cold', 'Warm', 'Hot'], selectedTemperatureLevel: 1 };

class Microwave extends MicrowaveOvenControlServer.with('PowerAsNumber') {
  override setCookingParameters(request: MicrowaveOvenControl.SetCookingParametersRequest): void {
    const { cookTime, powerSetting, cookMode, startAfterSetting } = request;
    this.state.cookTime = cookTime ?? 30;
    this.state.powerSetting = powerSetting ?? 100;
    this.agent.get(MicrowaveOvenModeServer).state.currentMode = cookMode ?? 0;
    if (startAfterSetting) this.agent.get(Appliance).start();
  }

  override addMoreTime({ timeToAdd }: MicrowaveOvenControl.AddMoreTimeRequest): void {
    this.state.cookTime = Math.min(this.state.cookTime + timeToAdd, this.state.maxCookTime);
  }
}

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

export const MICROWAVE_OVEN: DeviceType = {
  parts: [
    {
      id: 'microwave',
      type: MicrowaveOvenDevice.with(Appliance, MicrowaveOvenModeServer, Microwave),
      state: {
        operationalState: OPERATIONAL_STATE,
        microwaveOvenMode: { supportedModes: [mode(0, 'Normal', NORMAL), mode(1, 'Defrost', 0x4001)], currentMode: 0 },
        microwaveOvenControl: { cookTime: 30, maxCookTime: 3600, powerSetting: 100 },
      },
    },
  ],
};
