import { type Constraint, FieldValue, type ValueModel } from '@matter/model';

/** Limits that depend on other attributes of the device. */
interface LiveLimits {
  readonly liveMin?: LimitExpression;
  readonly liveMax?: LimitExpression;
}

/** The range of an integer. */
export interface IntegerRange extends LiveLimits {
  readonly min: bigint;
  readonly max: bigint;
  /** True for a type of more than 53 bits. Its values are bigint in matter.js, and numbers or decimal text in JSON. */
  readonly isWide: boolean;
}

// Seconds from 1970 to 2000. Matter counts times from 2000, but matter.js returns times since 1970.
const EPOCH_OFFSET_S = 946_684_800n;
const UNIT_TYPES = ['percent100ths', 'percent', 'temperature', 'TemperatureDifference', 'SignedTemperature', 'UnsignedTemperature'];

/** Returns the range of an integer from its width and its constraint. The range excludes the value that stands for null (Core §7.19.1). */
export function integerRange(model: ValueModel): IntegerRange {
  const type = typeRange(model);
  const isEpoch = typeNames(model).some((name) => name === 'epoch-s' || name === 'epoch-us');
  return isEpoch ? type : narrowed(type, model);
}

/** Returns the limit of a constraint as a number. Returns undefined if the limit is stated in prose or refers to an attribute. */
export function boundOf(expression: Constraint.Expression | undefined, model: ValueModel): bigint | undefined {
  if (expression === undefined || expression === null || isLive(expression)) return undefined;
  if (typeof expression === 'bigint') return expression;
  const unitType = UNIT_TYPES.find((name) => typeNames(model).includes(name));
  const value = FieldValue.numericValue(expression as FieldValue, unitType ?? model.type);
  return value === undefined || !Number.isFinite(value) ? undefined : BigInt(Math.round(value));
}

// Returns the range of an integer type. The percent types allow fewer values than their width (Core §7.19.2).
function typeRange(model: ValueModel): IntegerRange {
  const names = typeNames(model);
  if (names.includes('percent100ths')) return { min: 0n, max: 10_000n, isWide: false };
  if (names.includes('percent')) return { min: 0n, max: 100n, isWide: false };
  const match = /^(u?)int(\d+)$/.exec(model.primitiveBase?.name ?? '');
  const bits = BigInt(match?.[2] ?? 64);
  const isUnsigned = match?.[1] === 'u';
  const min = isUnsigned ? 0n : -(1n << (bits - 1n));
  const max = isUnsigned ? (1n << bits) - 1n : (1n << (bits - 1n)) - 1n;
  const takesLow = model.nullable && !isUnsigned ? 1n : 0n;
  const takesHigh = model.nullable && isUnsigned ? 1n : 0n;
  const microseconds = names.includes('epoch-us') ? EPOCH_OFFSET_S * 1_000_000n : 0n;
  const offset = names.includes('epoch-s') ? EPOCH_OFFSET_S : microseconds;
  return { min: min + takesLow + offset, max: max - takesHigh + offset, isWide: bits > 53n };
}

/** Returns the smallest range that contains all parts of the constraint: `1 to 10, 254` becomes 1 to 254. */
function narrowed(range: IntegerRange, model: ValueModel): IntegerRange {
  const constraint = model.effectiveConstraint;
  const parts: readonly Constraint.Ast[] = constraint.parts ?? [constraint];
  const bounds = parts
    .map((part) => partBounds(part, model))
    .filter((part) => part.min !== undefined || part.max !== undefined || part.isLive);
  if (bounds.length === 0) return range;
  const lows = bounds.map((part) => part.min ?? range.min);
  const highs = bounds.map((part) => part.max ?? range.max);
  const only = bounds.length === 1 ? parts.find((part) => isLive(part.min) || isLive(part.max)) : undefined;
  return {
    isWide: range.isWide,
    min: sorted([range.min, sorted(lows).at(0) ?? 0n]).at(-1) ?? 0n,
    max: sorted([range.max, sorted(highs).at(-1) ?? 0n]).at(0) ?? 0n,
    ...(isLive(only?.min) && { liveMin: only.min }),
    ...(isLive(only?.max) && { liveMax: only.max }),
  };
}

function partBounds(part: Constraint.Ast, model: ValueModel): { min: bigint | undefined; max: bigint | undefined; isLive: boolean } {
  const value = boundOf(part.value, model);
  return {
    min: value ?? boundOf(part.min, model),
    max: value ?? boundOf(part.max, model),
    isLive: isLive(part.min) || isLive(part.max),
  };
}

function sorted(values: readonly bigint[]): readonly bigint[] {
  return values.toSorted((a, b) => Number(a - b));
}

/** A limit computed from other attributes of the device, such as `maxLevel` or `endTime - 1`. */
export type LimitExpression = Constraint.Expression;

const OPERATIONS: Record<string, (left: number, right: number) => number> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
};

/** Returns whether a limit is computed from attributes, and is not a plain number. */
function isLive(expression: Constraint.Expression | undefined): expression is LimitExpression {
  if (typeof expression !== 'object' || expression === null || expression instanceof Date || Array.isArray(expression)) return false;
  return 'lhs' in expression || 'args' in expression || FieldValue.referenced(expression as FieldValue) !== undefined;
}

/** Computes a limit from the attributes in `state`, by camelCase name. Returns undefined if an attribute is missing. */
export function evaluateLimit(expression: LimitExpression, state: Readonly<Record<string, unknown>>): number | undefined {
  const value = resolve(expression, state);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function resolve(expression: LimitExpression, state: Readonly<Record<string, unknown>>): unknown {
  if (typeof expression === 'number' || typeof expression === 'bigint') return Number(expression);
  if (typeof expression !== 'object' || expression === null) return undefined;
  if ('args' in expression) return resolveFunction(expression, state);
  if ('lhs' in expression) return resolveOperator(expression, state);
  const name = FieldValue.referenced(expression as FieldValue);
  if (name === undefined) return FieldValue.numericValue(expression as FieldValue);
  const value = state[name];
  return typeof value === 'bigint' ? Number(value) : value;
}

function resolveFunction(call: Constraint.Function, state: Readonly<Record<string, unknown>>): number | undefined {
  const values = call.args.map((argument) => resolve(argument, state));
  if (!values.every((value) => typeof value === 'number')) return undefined;
  return call.type === 'maxOf' ? Math.max(...values) : Math.min(...values);
}

function resolveOperator(operator: Constraint.BinaryOperator, state: Readonly<Record<string, unknown>>): unknown {
  const left = resolve(operator.lhs, state);
  if (operator.type === '.') {
    return typeof left === 'object' && left !== null ? resolve(operator.rhs, left as Record<string, unknown>) : undefined;
  }
  const right = resolve(operator.rhs, state);
  if (typeof left !== 'number' || typeof right !== 'number') return undefined;
  return OPERATIONS[operator.type]?.(left, right);
}

const between = (min: string, max: string): LiveLimits => ({
  liveMin: { type: 'reference', name: min },
  liveMax: { type: 'reference', name: max },
});
const HEATING = between('minHeatSetpointLimit', 'maxHeatSetpointLimit');
const COOLING = between('minCoolSetpointLimit', 'maxCoolSetpointLimit');

// For these attributes, the model states only "desc". The limits are from the text of Application Clusters §4.3 and §8.2.
const LIMITS: Readonly<Record<string, LiveLimits>> = {
  'Thermostat.OccupiedHeatingSetpoint': HEATING,
  'Thermostat.UnoccupiedHeatingSetpoint': HEATING,
  'Thermostat.OccupiedCoolingSetpoint': COOLING,
  'Thermostat.UnoccupiedCoolingSetpoint': COOLING,
  'Thermostat.MinHeatSetpointLimit': between('absMinHeatSetpointLimit', 'absMaxHeatSetpointLimit'),
  'Thermostat.MaxHeatSetpointLimit': between('absMinHeatSetpointLimit', 'absMaxHeatSetpointLimit'),
  'Thermostat.MinCoolSetpointLimit': between('absMinCoolSetpointLimit', 'absMaxCoolSetpointLimit'),
  'Thermostat.MaxCoolSetpointLimit': between('absMinCoolSetpointLimit', 'absMaxCoolSetpointLimit'),
  'TemperatureControl.TargetTemperature': between('minTemperature', 'maxTemperature'),
};

/** Returns the limits that only the text of the specification gives for an attribute or command field; empty if there are none. */
export function proseLimits(cluster: string, element: string): LiveLimits {
  return LIMITS[`${cluster}.${element}`] ?? {};
}

/** The unit of a value. The raw value times `scale` is the value in this unit. */
export interface Unit {
  readonly unit: string;
  readonly scale: number;
}

const of = (unit: string, scale = 1): Unit => ({ unit, scale });

/** Units given by the semantic data type in the model (Core §7.19.2). */
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

/** Units from the text of the specification. Each row has a cluster, a unit, and the names of attributes and fields with this unit. */
const PROSE_UNITS: readonly (readonly [cluster: string, unit: Unit, ...elements: string[]])[] = [
  ['RelativeHumidityMeasurement', of('%', 0.01), 'MeasuredValue', 'MinMeasuredValue', 'MaxMeasuredValue', 'Tolerance'],
  ['PressureMeasurement', of('kPa', 0.1), 'MeasuredValue', 'MinMeasuredValue', 'MaxMeasuredValue', 'Tolerance'],
  ['FlowMeasurement', of('m³/h', 0.1), 'MeasuredValue', 'MinMeasuredValue', 'MaxMeasuredValue', 'Tolerance'],
  // Illuminance is logarithmic, 10,000 × log10(lx) + 1, so no scale converts it to lux.
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
const CONCENTRATION_VALUES = /^((Min|Max|Peak|Average)?MeasuredValue|Uncertainty)$/;
const CONCENTRATION_UNITS = ['ppm', 'ppb', 'ppt', 'mg/m³', 'µg/m³', 'ng/m³', 'm⁻³', 'Bq/m³'];

/** Returns the unit of a number from its type or the text of the specification; undefined for a number without a unit. */
export function unitOf(model: ValueModel, clusterName: string): Unit | undefined {
  for (const type of typeNames(model)) {
    const unit = BY_TYPE[type];
    if (unit !== undefined) return unit;
  }
  return BY_PATH.get(`${clusterName}.${model.name}`) ?? (/Mireds$/.test(model.name) ? MIREDS : undefined);
}

/** Returns the unit of a concentration, which the device reports in `MeasurementUnit` (Application Clusters §2.10.5.4). */
export function concentrationUnit(clusterName: string, attribute: string, measurementUnit: unknown): Unit | undefined {
  if (!clusterName.endsWith('ConcentrationMeasurement') || !CONCENTRATION_VALUES.test(attribute)) return undefined;
  const unit = typeof measurementUnit === 'number' ? CONCENTRATION_UNITS[measurementUnit] : undefined;
  return unit === undefined ? undefined : of(unit);
}

/** Returns the names of the types that a model derives from, its own type first. */
function typeNames(model: ValueModel): readonly string[] {
  const names: string[] = [];
  const seen = new Set<ValueModel>();
  for (let next: ValueModel | undefined = model; next && !seen.has(next); next = next.base) {
    seen.add(next);
    if (next.type !== undefined) names.push(next.type);
    if (next !== model) names.push(next.name);
  }
  return names;
}
