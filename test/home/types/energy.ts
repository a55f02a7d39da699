import { PowerSourceServer } from '@matter/main/behaviors/power-source';
import { BatteryStorageDevice } from '@matter/main/devices/battery-storage';
import { SolarPowerDevice } from '@matter/main/devices/solar-power';
import { PowerSourceEndpoint } from '@matter/main/endpoints/power-source';
import type { DeviceType, Part } from '../part.ts';
import { production, storage } from './meter.ts';

const wired: Part = {
  id: 'source',
  type: PowerSourceEndpoint.with(PowerSourceServer.with('Wired')),
  state: { powerSource: { status: 1, order: 0, description: 'Grid', wiredCurrentType: 0 } },
};

const battery: Part = {
  id: 'source',
  type: PowerSourceEndpoint.with(PowerSourceServer.with('Battery', 'Rechargeable')),
  state: {
    powerSource: {
      status: 1,
      order: 0,
      description: 'House battery',
      batChargeLevel: 0,
      batPercentRemaining: 126,
      batReplacementNeeded: false,
      batReplaceability: 0,
      batChargeState: 1,
      batFunctionalWhileCharging: true,
    },
  },
};

export const SOLAR_POWER: DeviceType = { parts: [{ id: 'solar', type: SolarPowerDevice, parts: [production, wired] }] };

export const BATTERY_STORAGE: DeviceType = { parts: [{ id: 'battery', type: BatteryStorageDevice, parts: [storage, battery] }] };
