import { EnergyEvseServer } from '@matter/main/behaviors/energy-evse';
import { EnergyEvse } from '@matter/main/clusters/energy-evse';
import { EnergyEvseDevice } from '@matter/main/devices/energy-evse';
import type { DeviceType } from '../part.ts';
import { consumption } from './meter.ts';

/** 2000-01-01, Matter's zero: a time in the past means that charging is disabled. */
const DISABLED_EPOCH_S = 946_684_800;

/** Charges as told: with a vehicle plugged in, enabling starts the supply and disabling ends it. */
class ChargingPoint extends EnergyEvseServer {
  override enableCharging({ chargingEnabledUntil, minimumChargeCurrent, maximumChargeCurrent }: EnergyEvse.EnableChargingRequest): void {
    this.state.chargingEnabledUntil = chargingEnabledUntil;
    this.state.minimumChargeCurrent = minimumChargeCurrent;
    this.state.maximumChargeCurrent = maximumChargeCurrent;
    this.state.supplyState = EnergyEvse.SupplyState.ChargingEnabled;
    if (this.state.state === EnergyEvse.State.PluggedInDemand) this.state.state = EnergyEvse.State.PluggedInCharging;
  }

  override disable(): void {
    this.state.supplyState = EnergyEvse.SupplyState.Disabled;
    this.state.chargingEnabledUntil = DISABLED_EPOCH_S;
    this.state.maximumChargeCurrent = 0;
    if (this.state.state === EnergyEvse.State.PluggedInCharging) this.state.state = EnergyEvse.State.PluggedInDemand;
  }
}

const MANUAL_MODE = { label: 'Manual', mode: 0, modeTags: [{ value: 0x4000 }] };
const SOLAR_MODE = { label: 'Solar', mode: 1, modeTags: [{ value: 0x4002 }] };

export const ENERGY_EVSE: DeviceType = {
  parts: [
    {
      id: 'evse',
      type: EnergyEvseDevice.with(ChargingPoint),
      state: {
        energyEvse: {
          state: EnergyEvse.State.PluggedInDemand,
          supplyState: EnergyEvse.SupplyState.Disabled,
          faultState: 0,
          chargingEnabledUntil: DISABLED_EPOCH_S,
          circuitCapacity: 32_000,
          minimumChargeCurrent: 6000,
          maximumChargeCurrent: 0,
          sessionId: null,
          sessionDuration: null,
          sessionEnergyCharged: null,
        },
        energyEvseMode: { supportedModes: [MANUAL_MODE, SOLAR_MODE], currentMode: 0 },
      },
      parts: [consumption],
    },
  ],
};
