import '../../../src/matter/model/data-model.ts';
import { OvenCavityOperationalStateServer } from '@matter/main/behaviors/oven-cavity-operational-state';
import { OvenModeServer } from '@matter/main/behaviors/oven-mode';
import { RefrigeratorAlarmServer } from '@matter/main/behaviors/refrigerator-alarm';
import { RefrigeratorAndTemperatureControlledCabinetModeServer } from '@matter/main/behaviors/refrigerator-and-temperature-controlled-cabinet-mode';
import { TemperatureMeasurementServer } from '@matter/main/behaviors/temperature-measurement';
import { OperationalState } from '@matter/main/clusters/operational-state';
import { OvenDevice } from '@matter/main/devices/oven';
import { RefrigeratorDevice } from '@matter/main/devices/refrigerator';
import { TemperatureControlledCabinetDevice } from '@matter/main/devices/temperature-controlled-cabinet';
import type { DeviceType, Part } from '../part.ts';
import { OPERATIONAL_STATE } from './operational-state.ts';
import { NumberControlled } from './temperature-control.ts';

const { OperationalStateEnum: State, ErrorState } = OperationalState;

interface Cabinet {
  readonly id: string;
  readonly setpoint: number;
  readonly range: readonly [min: number, max: number];
}

/** A compartment with its own setpoint and thermometer, in 0.01 °C. */
function cooled({ id, setpoint, range: [minTemperature, maxTemperature] }: Cabinet): Part {
  return {
    id,
    type: TemperatureControlledCabinetDevice.with(
      NumberControlled,
      TemperatureMeasurementServer,
      RefrigeratorAndTemperatureControlledCabinetModeServer,
    ),
    state: {
      temperatureControl: { temperatureSetpoint: setpoint, minTemperature, maxTemperature },
      temperatureMeasurement: { measuredValue: setpoint, minMeasuredValue: -4000, maxMeasuredValue: 5000 },
      refrigeratorAndTemperatureControlledCabinetMode: {
        supportedModes: [
          { label: 'Normal', mode: 0, modeTags: [{ value: 0 }] },
          { label: 'Rapid', mode: 1, modeTags: [{ value: 0x4000 }] },
        ],
        currentMode: 0,
      },
    },
  };
}

class Cavity extends OvenCavityOperationalStateServer {
  override start(): OperationalState.OperationalCommandResponse {
    return this.change(State.Running);
  }

  override stop(): OperationalState.OperationalCommandResponse {
    return this.change(State.Stopped);
  }

  private change(to: OperationalState.OperationalStateEnum): OperationalState.OperationalCommandResponse {
    if (this.state.operationalState === State.Error) return { commandResponseState: { errorStateId: ErrorState.CommandInvalidInState } };
    this.state.operationalState = to;
    return { commandResponseState: { errorStateId: ErrorState.NoError } };
  }
}

const cavity: Part = {
  id: 'cavity',
  type: TemperatureControlledCabinetDevice.with(NumberControlled, TemperatureMeasurementServer, OvenModeServer, Cavity),
  state: {
    temperatureControl: { temperatureSetpoint: 18_000, minTemperature: 5000, maxTemperature: 25_000 },
    temperatureMeasurement: { measuredValue: 2200, minMeasuredValue: 0, maxMeasuredValue: 30_000 },
    ovenMode: {
      supportedModes: [
        { label: 'Bake', mode: 0, modeTags: [{ value: 0x4000 }] },
        { label: 'Grill', mode: 1, modeTags: [{ value: 0x4002 }] },
      ],
      currentMode: 0,
    },
    ovenCavityOperationalState: { ...OPERATIONAL_STATE, phaseList: null, currentPhase: null },
  },
};

export const REFRIGERATOR: DeviceType = {
  parts: [
    {
      id: 'refrigerator',
      type: RefrigeratorDevice.with(RefrigeratorAlarmServer),
      state: { refrigeratorAlarm: { mask: { doorOpen: true }, supported: { doorOpen: true }, state: {} } },
      parts: [
        cooled({ id: 'fridge', setpoint: 400, range: [100, 800] }),
        cooled({ id: 'freezer', setpoint: -1800, range: [-2400, -1400] }),
      ],
    },
  ],
};

export const OVEN: DeviceType = { parts: [{ id: 'oven', type: OvenDevice, parts: [cavity] }] };
