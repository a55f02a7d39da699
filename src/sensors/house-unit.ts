interface Conversion {
  readonly unit: string;
  readonly convert: (value: number) => number;
}

const times = (unit: string, factor: number): Conversion => ({ unit, convert: (value) => value * factor });

/** Units that instruments speak, and the one in which the hub keeps such values: that of the tools and of other sensors of the kind. */
const CONVERSIONS: Readonly<Record<string, Conversion>> = {
  '°F': { unit: '°C', convert: (value) => ((value - 32) * 5) / 9 },
  K: { unit: '°C', convert: (value) => value - 273.15 },
  'm°C': times('°C', 1e-3),
  Pa: times('hPa', 1e-2),
  kPa: times('hPa', 10),
  mbar: times('hPa', 1),
  bar: times('hPa', 1000),
  psi: times('hPa', 68.947572932),
  mV: times('V', 1e-3),
  mA: times('A', 1e-3),
  mW: times('W', 1e-3),
  kW: times('W', 1000),
  Wh: times('kWh', 1e-3),
  MWh: times('kWh', 1000),
  J: times('kWh', 1 / 3.6e6),
  'l/h': times('m³/h', 1e-3),
  'l/min': times('m³/h', 0.06),
  mm: times('m', 1e-3),
  cm: times('m', 1e-2),
};

/** How values in `unit` are kept; a unit that the table lacks stays as it is. */
export function houseUnit(unit: string): Conversion {
  return (Object.hasOwn(CONVERSIONS, unit) ? CONVERSIONS[unit] : undefined) ?? times(unit, 1);
}
