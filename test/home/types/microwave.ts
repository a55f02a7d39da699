import { MicrowaveOvenControlServer } from '@matter/main/behaviors/microwave-oven-control';
import { MicrowaveOvenModeServer } from '@matter/main/behaviors/microwave-oven-mode';
import type { MicrowaveOvenControl } from '@matter/main/clusters/microwave-oven-control';
import { MicrowaveOvenDevice } from '@matter/main/devices/microwave-oven';
import type { DeviceType } from '../part.ts';
import { mode, NORMAL } from './mode.ts';
import { Appliance, OPERATIONAL_STATE } from './operational-state.ts';

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
