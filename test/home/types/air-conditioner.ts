import { ThermostatServer } from '@matter/main/behaviors/thermostat';
import { RoomAirConditionerDevice } from '@matter/main/devices/room-air-conditioner';
import type { DeviceType } from '../part.ts';
import { FAN_STATE, SpeedFan } from './speed-fan.ts';

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
