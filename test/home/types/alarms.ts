import { Seconds, Time } from '@matter/main';
import { SmokeCoAlarmServer } from '@matter/main/behaviors/smoke-co-alarm';
import { SmokeCoAlarm } from '@matter/main/clusters/smoke-co-alarm';
import { SmokeCoAlarmDevice } from '@matter/main/devices/smoke-co-alarm';
import { WaterLeakDetectorDevice } from '@matter/main/devices/water-leak-detector';
import type { DeviceType } from '../part.ts';

const SELF_TEST_SECONDS = 3;

/** Runs its self test for so long, then tells that it is over. */
class SelfTestingAlarm extends SmokeCoAlarmServer.with('SmokeAlarm', 'CoAlarm') {
  override selfTestRequest(): void {
    this.state.testInProgress = true;
    this.state.expressedState = SmokeCoAlarm.ExpressedState.Testing;
    Time.getTimer('self test', Seconds(SELF_TEST_SECONDS), this.callback(this.finishTest, { lock: true })).start();
  }

  finishTest(): void {
    this.state.testInProgress = false;
    this.state.expressedState = SmokeCoAlarm.ExpressedState.Normal;
    this.events.selfTestComplete.emit(undefined, this.context);
  }
}

export const SMOKE_CO_ALARM: DeviceType = {
  parts: [{ id: 'alarm', type: SmokeCoAlarmDevice.with(SelfTestingAlarm) }],
};

/** Dry: true would be a leak. */
export const WATER_LEAK_DETECTOR: DeviceType = {
  parts: [{ id: 'leak', type: WaterLeakDetectorDevice, state: { booleanState: { stateValue: false } } }],
};
