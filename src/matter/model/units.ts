import type { ValueModel } from '@matter/model';

/** The unit of `value * scale`. */
export interface Unit {
  readonly unit: string;
  readonly scale: number;
}

const of = (unit: string, scale = 1): Unit => ({ unit, scale });

/** Units that the model states through a semantic data type (Core §7.19.2). */
const BY_TYPE: Readonly<Record<string, Unit>> = {
  temperature: of('°C', 0.01),
  SignedTemperature: of('°C', 0.1),
  UnsignedTemperature: of('°C', 0.1),
  TemperatureDifference: of('°C', 0.01),
  percent: of('%'),
  percent100ths: of('%', 0.01),
  'elapsed-s': of('s'),
  'epoch-s': of('s since 1970-01-01'),
  'epoch-us': of('µs since 1970-01-01'),
  'posix-ms': of('ms since 1970-01-01'),
  'systime-ms': of('ms since start'),
  'systime-us': of('µs since start'),
  'power-mW': of('W', 0.001),
  'power-mVA': of('VA', 0.001),
  'power-mVAR': of('var', 0.001),
  'energy-mWh': of('Wh', 0.001),
  'energy-mVAh': of('VAh', 0.001),
  'energy-mVARh': of('varh', 0.001),
  'voltage-mV': of('V', 0.001),
  'amperage-mA': of('A', 0.001),
};

/** Units that are only in the prose of the specification: cluster, unit, and elements (field names in any command or struct). */
const PROSE_UNITS: readonly (readonly [cluster: string, unit: Unit, ...elements: string[]])[] = [
  ['RelativeHumidityMeasurement', of('%', 0.01), 'MeasuredValue', 'MinMeasuredValue', 'MaxMeasuredValue', 'Tolerance'],
  ['PressureMeasurement', of('kPa', 0.1), 'MeasuredValue', 'MinMeasuredValue', 'MaxMeasuredValue', 'Tolerance'],
  ['FlowMeasurement', of('m³/h', 0.1), 'MeasuredValue', 'MinMeasuredValue', 'MaxMeasuredValue', 'Tolerance'],
  // Illuminance is logarithmic: 10,000 × log10(lx) + 1. No scale turns it into lux.
  ['IlluminanceMeasurement', of('10000·log10(lx)+1'), 'MeasuredValue', 'MinMeasuredValue', 'MaxMeasuredValue'],
  ['Thermostat', of('°C', 0.1), 'Amount'],
  ['Thermostat', of('min'), 'TemperatureSetpointHoldDuration', 'ExpirationInMinutes'],
  ['OnOff', of('s', 0.1), 'OnTime', 'OffWaitTime'],
  ['LevelControl', of('s', 0.1), 'TransitionTime', 'RemainingTime', 'OnOffTransitionTime', 'OnTransitionTime', 'OffTransitionTime'],
  ['LevelControl', of('level/s'), 'Rate', 'DefaultMoveRate'],
  ['LevelControl', of('Hz'), 'CurrentFrequency', 'Frequency'],
  ['ColorControl', of('s', 0.1), 'TransitionTime', 'RemainingTime'],
  ['ColorControl', of('°', 360 / 254), 'CurrentHue', 'Hue'],
  ['ColorControl', of('%', 100 / 254), 'CurrentSaturation', 'Saturation'],
  ['ColorControl', of('°', 360 / 65536), 'EnhancedCurrentHue', 'EnhancedHue'],
  ['ColorControl', of('', 1 / 65536), 'CurrentX', 'CurrentY', 'ColorX', 'ColorY'],
  ['ColorControl', of('s'), 'ColorLoopTime'],
  ['PowerSource', of('%', 0.5), 'BatPercentRemaining'],
  ['PowerSource', of('V', 0.001), 'BatVoltage', 'WiredAssessedInputVoltage', 'WiredNominalVoltage'],
  ['PowerSource', of('s'), 'BatTimeRemaining', 'BatTimeToFullCharge'],
  ['PowerSource', of('Ah', 0.001), 'BatCapacity'],
  ['PowerSource', of('A', 0.001), 'BatChargingCurrent', 'WiredAssessedCurrent', 'WiredMaximumCurrent'],
  ['PowerSource', of('Hz'), 'WiredAssessedInputFrequency'],
  ['ElectricalPowerMeasurement', of('Hz', 0.001), 'Frequency'],
  ['ElectricalPowerMeasurement', of('%', 0.01), 'PowerFactor'],
  ['OccupancySensing', of('s'), 'HoldTime', 'HoldTimeMin', 'HoldTimeMax', 'HoldTimeDefault'],
  ['OccupancySensing', of('s'), 'PirOccupiedToUnoccupiedDelay', 'PirUnoccupiedToOccupiedDelay'],
  ['PumpConfigurationAndControl', of('kPa', 0.1), 'MaxPressure'],
  ['PumpConfigurationAndControl', of('rpm'), 'MaxSpeed', 'Speed'],
  ['PumpConfigurationAndControl', of('m³/h', 0.1), 'MaxFlow'],
  ['PumpConfigurationAndControl', of('%', 0.005), 'Capacity'],
  ['PumpConfigurationAndControl', of('W'), 'Power'],
  ['PumpConfigurationAndControl', of('h'), 'LifetimeRunningHours'],
  ['PumpConfigurationAndControl', of('kWh'), 'LifetimeEnergyConsumed'],
  ['DoorLock', of('s'), 'AutoRelockTime', 'Timeout', 'UserCodeTemporaryDisableTime'],
  ['Identify', of('s'), 'IdentifyTime'],
  ['MicrowaveOvenControl', of('%'), 'PowerSetting'],
  ['MicrowaveOvenControl', of('W'), 'WattRating'],
  ['WaterHeaterManagement', of('l'), 'TankVolume'],
  ['GeneralDiagnostics', of('s'), 'UpTime'],
  ['GeneralDiagnostics', of('h'), 'TotalOperationalHours'],
  ['WiFiNetworkDiagnostics', of('dBm'), 'Rssi'],
  ['ThreadNetworkDiagnostics', of('dBm'), 'AverageRssi', 'LastRssi'],
  ['OtaSoftwareUpdateRequestor', of('%'), 'UpdateStateProgress'],
];
const BY_PATH = new Map(
  PROSE_UNITS.flatMap(([cluster, unit, ...elements]) => elements.map((element) => [`${cluster}.${element}`, unit] as const)),
);

const MIREDS = of('mired');
const CONCENTRATION_VALUES = new Set([
  'MeasuredValue',
  'MinMeasuredValue',
  'MaxMeasuredValue',
  'PeakMeasuredValue',
  'AverageMeasuredValue',
  'Uncertainty',
]);
const CONCENTRATION_UNITS = ['ppm', 'ppb', 'ppt', 'mg/m³', 'µg/m³', 'ng/m³', 'm⁻³', 'Bq/m³'];

/** The unit of a number by its type, or by the prose of the specification; undefined for plain numbers. */
export function unitOf(model: ValueModel, clusterName: string): Unit | undefined {
  for (const type of typeNames(model)) {
    const unit = BY_TYPE[type];
    if (unit !== undefined) return unit;
  }
  return BY_PATH.get(`${clusterName}.${model.name}`) ?? (/Mireds$/.test(model.name) ? MIREDS : undefined);
}

/** The unit of a concentration, which the device reports in `MeasurementUnit` (App. Cluster §2.10.5.4). */
export function concentrationUnit(clusterName: string, attribute: string, measurementUnit: unknown): Unit | undefined {
  if (!clusterName.endsWith('ConcentrationMeasurement') || !CONCENTRATION_VALUES.has(attribute)) return undefined;
  const unit = typeof measurementUnit === 'number' ? CONCENTRATION_UNITS[measurementUnit] : undefined;
  return unit === undefined ? undefined : of(unit);
}

/** The names of the types that a model derives from, itself first. */
export function typeNames(model: ValueModel): readonly string[] {
  const names: string[] = [];
  const seen = new Set<ValueModel>();
  for (let next: ValueModel | undefined = model; next && !seen.has(next); next = next.base) {
    seen.add(next);
    if (next.type !== undefined) names.push(next.type);
    if (next !== model) names.push(next.name);
  }
  return names;
}
