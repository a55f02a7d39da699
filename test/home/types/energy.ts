import { ElectricalEnergyMeasurementServer } from '@matter/main/behaviors/electrical-energy-measurement';
import { ElectricalPowerMeasurementServer } from '@matter/main/behaviors/electrical-power-measurement';
import { EnergyEvseServer } from '@matter/main/behaviors/energy-evse';
import { PowerSourceServer } from '@matter/main/behaviors/power-source';
import { PowerTopologyServer } from '@matter/main/behaviors/power-topology';
import { EnergyEvse } from '@matter/main/clusters/energy-evse';
import { BatteryStorageDevice } from '@matter/main/devices/battery-storage';
import { EnergyEvseDevice } from '@matter/main/devices/energy-evse';
import { OnOffPlugInUnitDevice } from '@matter/main/devices/on-off-plug-in-unit';
import { SolarPowerDevice } from '@matter/main/devices/solar-power';
import { ElectricalSensorEndpoint } from '@matter/main/endpoints/electrical-sensor';
import { PowerSourceEndpoint } from '@matter/main/endpoints/power-source';
import type { DeviceType, Part, PartState } from '../part.ts';

/** 2000-01-01, Matter's zero: a time in the past means that charging is disabled. */
const DISABLED_EPOCH_S = 946_684_800;
const ENERGY_TYPE = 14;
/** Voltage, active current and active power of MeasurementTypeEnum. */
const POWER_TYPES = [1, 2, 5];

const accuracy = (measurementType: number): object => ({
  measurementType,
  measured: true,
  minMeasuredValue: -50_000_000,
  maxMeasuredValue: 50_000_000,
  accuracyRanges: [{ rangeMin: -50_000_000, rangeMax: 50_000_000, fixedMax: 1000 }],
});

/** Power in mW and energy in mWh so far; 230 V. */
function meterState(powerMw: number, energy: Readonly<Record<string, number>>): PartState {
  return {
    electricalPowerMeasurement: {
      powerMode: 2,
      numberOfMeasurementTypes: POWER_TYPES.length,
      accuracy: POWER_TYPES.map(accuracy),
      voltage: 230_000,
      activeCurrent: Math.round(powerMw / 230),
      activePower: powerMw,
    },
    electricalEnergyMeasurement: {
      accuracy: accuracy(ENERGY_TYPE),
      ...Object.fromEntries(Object.entries(energy).map(([name, mwh]) => [name, { energy: mwh }])),
    },
  };
}

const AcPower = ElectricalPowerMeasurementServer.with('AlternatingCurrent');
const Topology = PowerTopologyServer.with('NodeTopology');

const consumption: Part = {
  id: 'meter',
  type: ElectricalSensorEndpoint.with(Topology, AcPower, ElectricalEnergyMeasurementServer.with('ImportedEnergy', 'CumulativeEnergy')),
  state: meterState(12_500, { cumulativeEnergyImported: 1_234_000 }),
};

const production: Part = {
  id: 'meter',
  type: ElectricalSensorEndpoint.with(Topology, AcPower, ElectricalEnergyMeasurementServer.with('ExportedEnergy', 'CumulativeEnergy')),
  state: meterState(-2_400_000, { cumulativeEnergyExported: 5_600_000 }),
};

const storage: Part = {
  id: 'meter',
  type: ElectricalSensorEndpoint.with(
    Topology,
    AcPower,
    ElectricalEnergyMeasurementServer.with('ImportedEnergy', 'ExportedEnergy', 'CumulativeEnergy'),
  ),
  state: meterState(800_000, { cumulativeEnergyImported: 9_000_000, cumulativeEnergyExported: 8_000_000 }),
};

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

export const METERED_PLUG: DeviceType = { parts: [{ id: 'plug', type: OnOffPlugInUnitDevice }, consumption] };

export const SOLAR_POWER: DeviceType = { parts: [{ id: 'solar', type: SolarPowerDevice, parts: [production, wired] }] };

export const BATTERY_STORAGE: DeviceType = { parts: [{ id: 'battery', type: BatteryStorageDevice, parts: [storage, battery] }] };

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
