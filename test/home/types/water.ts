import { Seconds, Time } from '@matter/main';
import { PumpConfigurationAndControlServer } from '@matter/main/behaviors/pump-configuration-and-control';
import { ValveConfigurationAndControlServer } from '@matter/main/behaviors/valve-configuration-and-control';
import type { PumpConfigurationAndControl } from '@matter/main/clusters/pump-configuration-and-control';
import { ValveConfigurationAndControl } from '@matter/main/clusters/valve-configuration-and-control';
import { PumpDevice } from '@matter/main/devices/pump';
import { WaterValveDevice } from '@matter/main/devices/water-valve';
import type { DeviceType } from '../part.ts';

const { ValveState } = ValveConfigurationAndControl;
/** In a context of the device's own, since a remote writer may not write the read-only attributes that follow. */
const AFTERWARDS = { offline: true, lock: true };

/** Opens to a level, and closes by itself when a duration was given. */
class TimedValve extends ValveConfigurationAndControlServer.with('Level') {
  override open({ openDuration, targetLevel }: ValveConfigurationAndControl.OpenRequest): void {
    const seconds = openDuration === undefined ? this.state.defaultOpenDuration : openDuration;
    this.move(ValveState.Open, targetLevel ?? this.state.defaultOpenLevel ?? 100);
    this.state.openDuration = seconds;
    this.state.remainingDuration = seconds;
    if (seconds !== null) Time.getTimer('valve', Seconds(seconds), this.callback(this.close, { lock: true })).start();
  }

  override close(): void {
    this.move(ValveState.Closed, 0);
    this.state.openDuration = null;
    this.state.remainingDuration = null;
  }

  private move(state: ValveConfigurationAndControl.ValveState, level: number): void {
    this.state.currentState = state;
    this.state.targetState = null;
    this.state.currentLevel = level;
    this.state.targetLevel = null;
  }
}

/** Does what its mode says at once. */
class ObedientPump extends PumpConfigurationAndControlServer.with('ConstantSpeed', 'ConstantPressure', 'ConstantFlow') {
  override initialize(): void {
    this.reactTo(this.events.operationMode$Changed, this.followOperationMode, AFTERWARDS);
    this.maybeReactTo(this.events.controlMode$Changed, this.followControlMode, AFTERWARDS);
  }

  followOperationMode(mode: PumpConfigurationAndControl.OperationMode): void {
    this.state.effectiveOperationMode = mode;
  }

  followControlMode(mode: PumpConfigurationAndControl.ControlMode): void {
    this.state.effectiveControlMode = mode;
  }
}

export const WATER_VALVE: DeviceType = {
  parts: [
    {
      id: 'valve',
      type: WaterValveDevice.with(TimedValve),
      state: {
        valveConfigurationAndControl: {
          openDuration: null,
          defaultOpenDuration: null,
          remainingDuration: null,
          currentState: ValveState.Closed,
          targetState: null,
          currentLevel: 0,
          targetLevel: null,
          defaultOpenLevel: 100,
          valveFault: {},
        },
      },
    },
  ],
};

export const PUMP: DeviceType = {
  parts: [
    {
      id: 'pump',
      type: PumpDevice.with(ObedientPump),
      state: {
        pumpConfigurationAndControl: {
          maxPressure: 500,
          maxSpeed: 3000,
          maxFlow: 40,
          minConstPressure: 50,
          maxConstPressure: 500,
          minConstSpeed: 500,
          maxConstSpeed: 3000,
          minConstFlow: 5,
          maxConstFlow: 40,
          pumpStatus: {},
          effectiveOperationMode: 0,
          effectiveControlMode: 0,
          capacity: 2000,
          speed: 1500,
          operationMode: 0,
          controlMode: 0,
        },
      },
    },
  ],
};
