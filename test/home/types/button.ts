import { SwitchServer } from '@matter/main/behaviors/switch';
import { GenericSwitchDevice } from '@matter/main/devices/generic-switch';
import type { DeviceType } from '../part.ts';

/** Press by setting switch.currentPosition to 1 and back to 0: short, long and multiple presses become events. */
export const BUTTON: DeviceType = {
  parts: [
    {
      id: 'button',
      type: GenericSwitchDevice.with(
        SwitchServer.with('MomentarySwitch', 'MomentarySwitchRelease', 'MomentarySwitchLongPress', 'MomentarySwitchMultiPress'),
      ),
      state: { switch: { numberOfPositions: 2, currentPosition: 0, multiPressMax: 3 } },
    },
  ],
};
