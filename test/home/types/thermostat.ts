import { ThermostatServer } from '@matter/main/behaviors/thermostat';
import { ThermostatDevice } from '@matter/main/devices/thermostat';
import type { DeviceType } from '../part.ts';

/** 20.5 °C in the room, heating to 20 °C, cooling to 26 °C, at least 2 °C between. */
const COMFORT = {
  localTemperature: 2050,
  occupiedHeatingSetpoint: 2000,
  occupiedCoolingSetpoint: 2600,
  minHeatSetpointLimit: 700,
  maxHeatSetpointLimit: 3000,
  minCoolSetpointLimit: 1600,
  maxCoolSetpointLimit: 3200,
  minSetpointDeadBand: 20,
  controlSequenceOfOperation: 4,
  systemMode: 4,
};

export const THERMOSTAT: DeviceType = {
  parts: [
    {
      id: 'thermostat',
      type: ThermostatDevice.with(ThermostatServer.with('Heating', 'Cooling', 'AutoMode')),
      state: { thermostat: COMFORT },
    },
  ],
};
