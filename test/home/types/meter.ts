import { ElectricalEnergyMeasurementServer } from '@matter/main/behaviors/electrical-energy-measurement';
import { ElectricalPowerMeasurementServer } from '@matter/main/behaviors/electrical-power-measurement';
import { PowerTopologyServer } from '@matter/main/behaviors/power-topology';
import { ElectricalSensorEndpoint } from '@matter/main/endpoints/electrical-sensor';
import type { Part, PartState } from '../part.ts';

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

export const consumption: Part = {
  id: 'meter',
  type: ElectricalSensorEndpoint.with(Topology, AcPower, ElectricalEnergyMeasurementServer.with('ImportedEnergy', 'CumulativeEnergy')),
  state: meterState(12_500, { cumulativeEnergyImported: 1_234_000 }),
};

export const production: Part = {
  id: 'meter',
  type: ElectricalSensorEndpoint.with(Topology, AcPower, ElectricalEnergyMeasurementServer.with('ExportedEnergy', 'CumulativeEnergy')),
  state: meterState(-2_400_000, { cumulativeEnergyExported: 5_600_000 }),
};

export const storage: Part = {
  id: 'meter',
  type: ElectricalSensorEndpoint.with(
    Topology,
    AcPower,
    ElectricalEnergyMeasurementServer.with('ImportedEnergy', 'ExportedEnergy', 'CumulativeEnergy'),
  ),
  state: meterState(800_000, { cumulativeEnergyImported: 9_000_000, cumulativeEnergyExported: 8_000_000 }),
};
