import { LaundryDryerControlsServer } from '@matter/main/behaviors/laundry-dryer-controls';
import { LaundryWasherModeServer } from '@matter/main/behaviors/laundry-washer-mode';
import { OnOffServer } from '@matter/main/behaviors/on-off';
import { LaundryDryerDevice } from '@matter/main/devices/laundry-dryer';
import type { DeviceType } from '../part.ts';
import { mode, NORMAL } from './mode.ts';
import { Appliance, OPERATIONAL_STATE } from './operational-state.ts';

export const LAUNDRY_DRYER: DeviceType = {
  parts: [
    {
      id: 'dryer',
      type: LaundryDryerDevice.with(Appliance, OnOffServer.with('DeadFrontBehavior'), LaundryWasherModeServer, LaundryDryerControlsServer),
      state: {
        onOff: { onOff: true },
        operationalState: OPERATIONAL_STATE,
        laundryWasherMode: { supportedModes: [mode(0, 'Normal', NORMAL), mode(1, 'Delicate', 0x4001)], currentMode: 0 },
        laundryDryerControls: { supportedDrynessLevels: [0, 1, 2], selectedDrynessLevel: 1 },
      },
    },
  ],
};
