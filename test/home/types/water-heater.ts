import { Seconds, Time } from '@matter/main';
import { ThermostatServer } from '@matter/main/behaviors/thermostat';
import { WaterHeaterManagementServer } from '@matter/main/behaviors/water-heater-management';
import { WaterHeaterModeServer } from '@matter/main/behaviors/water-heater-mode';
import { WaterHeaterManagement } from '@matter/main/clusters/water-heater-management';
import { WaterHeaterDevice } from '@matter/main/devices/water-heater';
import type { DeviceType } from '../part.ts';
import { mode } from './mode.ts';

const { BoostState } = WaterHeaterManagement;
const OFF_TAG = 0x4000;
const MANUAL_TAG = 0x4001;
const TIMED_TAG = 0x4002;

/** Boosts for the time asked for, or until it is cancelled. */
class BoostingHeater extends WaterHeaterManagementServer.with('TankPercent') {
  override boost({ boostInfo }: WaterHeaterManagement.BoostRequest): void {
    this.state.boostState = BoostState.Active;
    this.state.heatDemand = { immersionElement1: true };
    Time.getTimer('boost', Seconds(boostInfo.duration), this.callback(this.cancelBoost, { lock: true })).start();
  }

  override cancelBoost(): void {
    this.state.boostState = BoostState.Inactive;
    this.state.heatDemand = {};
  }
}

/** Water at 52 °C, to be kept at 55 °C. */
export const WATER_HEATER: DeviceType = {
  parts: [
    {
      id: 'heater',
      type: WaterHeaterDevice.with(BoostingHeater, WaterHeaterModeServer, ThermostatServer.with('Heating')),
      state: {
        waterHeaterManagement: {
          heaterTypes: { immersionElement1: true },
          heatDemand: {},
          boostState: BoostState.Inactive,
          tankPercentage: 80,
        },
        waterHeaterMode: {
          supportedModes: [mode(0, 'Off', OFF_TAG), mode(1, 'Manual', MANUAL_TAG), mode(2, 'Timed', TIMED_TAG)],
          currentMode: 1,
        },
        thermostat: {
          localTemperature: 5200,
          occupiedHeatingSetpoint: 5500,
          absMinHeatSetpointLimit: 3000,
          absMaxHeatSetpointLimit: 6500,
          minHeatSetpointLimit: 3000,
          maxHeatSetpointLimit: 6500,
          controlSequenceOfOperation: 2,
          systemMode: 4,
        },
      },
    },
  ],
};
