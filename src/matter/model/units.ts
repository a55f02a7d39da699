import type { ValueModel } from '@matter/model';

/** What one unit of `value * scale` is. */
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

/** Units that stand only in the prose of the specification, by cluster and element (field names in any command or struct). */
const BY_PATH: Readonly<Record<string, Unit>> = {
  'RelativeHumidityMeasurement.MeasuredValue': of('%', 0.01),
  'RelativeHumidityMeasurement.MinMeasuredValue': of('%', 0.01),
  'RelativeHumidityMeasurement.MaxMeasuredValue': of('%', 0.01),
  'RelativeHumidityMeasurement.Tolerance': of('%', 0.01),
  'PressureMeasurement.MeasuredValue': of('kPa', 0.1),
  'PressureMeasurement.MinMeasuredValue': of('kPa', 0.1),
  'PressureMeasurement.MaxMeasuredValue': of('kPa', 0.1),
  'PressureMeasurement.Tolerance': of('kPa', 0.1),
  'FlowMeasurement.MeasuredValue': of('m³/h', 0.1),
  'FlowMeasurement.MinMeasuredValue': of('m³/h', 0.1),
  'FlowMeasurement.MaxMeasuredValue': of('m³/h', 0.1),
  'FlowMeasurement.Tolerance': of('m³/h', 0.1),
  // Illuminance is logarithmic: 10,000 × log10(lx) + 1. No scale turns it into lux.
  'IlluminanceMeasurement.MeasuredValue': of('10000·log10(lx)+1'),
  'IlluminanceMeasurement.MinMeasuredValue': of('10000·log10(lx)+1'),
  'IlluminanceMeasurement.MaxMeasuredValue': of('10000·log10(lx)+1'),
  'Thermostat.Amount': of('°C', 0.1),
  'Thermostat.TemperatureSetpointHoldDuration': of('min'),
  'Thermostat.ExpirationInMinutes': of('min'),
  'OnOff.OnTime': of('s', 0.1),
  'OnOff.OffWaitTime': of('s', 0.1),
  'LevelControl.TransitionTime': of('s', 0.1),
  'LevelControl.RemainingTime': of('s', 0.1),
  'LevelControl.OnOffTransitionTime': of('s', 0.1),
  'LevelControl.OnTransitionTime': of('s', 0.1),
  'LevelControl.OffTransitionTime': of('s', 0.1),
  'LevelControl.Rate': of('level/s'),
  'LevelControl.DefaultMoveRate': of('level/s'),
  'LevelControl.CurrentFrequency': of('Hz'),
  'LevelControl.Frequency': of('Hz'),
  'ColorControl.TransitionTime': of('s', 0.1),
  'ColorControl.RemainingTime': of('s', 0.1),
  'ColorControl.CurrentHue': of('°', 360 / 254),
  'ColorControl.Hue': of('°', 360 / 254),
  'ColorControl.CurrentSaturation': of('%', 100 / 254),
  'ColorControl.Saturation': of('%', 100 / 254),
  'ColorControl.EnhancedCurrentHue': of('°', 360 / 65536),
  'ColorControl.EnhancedHue': of('°', 360 / 65536),
  'ColorControl.CurrentX': of('', 1 / 65536),
  'ColorControl.CurrentY': of('', 1 / 65536),
  'ColorControl.ColorX': of('', 1 / 65536),
  'ColorControl.ColorY': of('', 1 / 65536),
  'ColorControl.ColorLoopTime': of('s'),
  'PowerSource.BatPercentRemaining': of('%', 0.5),
  'PowerSource.BatVoltage': of('V', 0.001),
  'PowerSource.BatTimeRemaining': of('s'),
  'PowerSource.BatTimeToFullCharge': of('s'),
  'PowerSource.BatCapacity': of('Ah', 0.001),
  'PowerSource.BatChargingCurrent': of('A', 0.001),
  'PowerSource.WiredAssessedInputVoltage': of('V', 0.001),
  'PowerSource.WiredNominalVoltage': of('V', 0.001),
  'PowerSource.WiredAssessedInputFrequency': of('Hz'),
  'PowerSource.WiredAssessedCurrent': of('A', 0.001),
  'PowerSource.WiredMaximumCurrent': of('A', 0.001),
  'ElectricalPowerMeasurement.Frequency': of('Hz', 0.001),
  'ElectricalPowerMeasurement.PowerFactor': of('%', 0.01),
  'OccupancySensing.HoldTime': of('s'),
  'OccupancySensing.HoldTimeMin': of('s'),
  'OccupancySensing.HoldTimeMax': of('s'),
  'OccupancySensing.HoldTimeDefault': of('s'),
  'OccupancySensing.PirOccupiedToUnoccupiedDelay': of('s'),
  'OccupancySensing.PirUnoccupiedToOccupiedDelay': of('s'),
  'PumpConfigurationAndControl.MaxPressure': of('kPa', 0.1),
  'PumpConfigurationAndControl.MaxSpeed': of('rpm'),
  'PumpConfigurationAndControl.Speed': of('rpm'),
  'PumpConfigurationAndControl.MaxFlow': of('m³/h', 0.1),
  'PumpConfigurationAndControl.Capacity': of('%', 0.005),
  'PumpConfigurationAndControl.Power': of('W'),
  'PumpConfigurationAndControl.LifetimeRunningHours': of('h'),
  'PumpConfigurationAndControl.LifetimeEnergyConsumed': of('kWh'),
  'DoorLock.AutoRelockTime': of('s'),
  'DoorLock.Timeout': of('s'),
  'DoorLock.UserCodeTemporaryDisableTime': of('s'),
  'Identify.IdentifyTime': of('s'),
  'MicrowaveOvenControl.PowerSetting': of('%'),
  'MicrowaveOvenControl.WattRating': of('W'),
  'WaterHeaterManagement.TankVolume': of('l'),
  'GeneralDiagnostics.UpTime': of('s'),
  'GeneralDiagnostics.TotalOperationalHours': of('h'),
  'WiFiNetworkDiagnostics.Rssi': of('dBm'),
  'ThreadNetworkDiagnostics.AverageRssi': of('dBm'),
  'ThreadNetworkDiagnostics.LastRssi': of('dBm'),
  'OtaSoftwareUpdateRequestor.UpdateStateProgress': of('%'),
};

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

/** The unit of a number: from its type, else from the table of what only prose says; undefined for plain numbers. */
export function unitOf(model: ValueModel, clusterName: string): Unit | undefined {
  for (const type of typeNames(model)) {
    const unit = BY_TYPE[type];
    if (unit !== undefined) return unit;
  }
  return BY_PATH[`${clusterName}.${model.name}`] ?? (/Mireds$/.test(model.name) ? MIREDS : undefined);
}

/** The unit of a concentration, which the device itself states in `MeasurementUnit` (App. Cluster §2.10.5.4). */
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
