import { ThermostatServer } from '@matter/main/behaviors/thermostat';
import { RoomAirConditionerDevice } from '@matter/main/devices/room-air-conditioner';
import { ThermostatDevice } from '@matter/main/devices/thermostat';
import type { DeviceType } from '../part.ts';
import { FAN_STATE, SpeedFan } from './fans.ts';

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

export const ROOM_AIR_CONDITIONER: DeviceType = {
  parts: [
    {
      id: 'air-conditioner',
      type: RoomAirConditionerDevice.with(ThermostatServer.with('Cooling'), SpeedFan),
      state: {
        thermostat: {
          localTemperature: 2700,
          occupiedCoolingSetpoint: 2400,
          minCoolSetpointLimit: 1600,
          maxCoolSetpointLimit: 3200,
          controlSequenceOfOperation: 0,
          systemMode: 0,
        },
        fanControl: FAN_STATE,
      },
    },
  ],
};
