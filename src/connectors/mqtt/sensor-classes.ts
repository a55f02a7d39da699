import type { SensorInfo } from '../../core/devices/reading-store.ts';

/** How Home Assistant shows readings: its device classes, for the units that it knows for them. */
interface SensorClass {
  readonly deviceClass: string;
  readonly units: readonly string[];
}

/** By kind of the reading (home-assistant.io/integrations/sensor, device class). */
const MEASURED: ReadonlyMap<string, SensorClass> = new Map(
  Object.entries({
    temperature: { deviceClass: 'temperature', units: ['°C', '°F', 'K'] },
    setpoint: { deviceClass: 'temperature', units: ['°C', '°F', 'K'] },
    humidity: { deviceClass: 'humidity', units: ['%'] },
    soil_moisture: { deviceClass: 'moisture', units: ['%'] },
    illuminance: { deviceClass: 'illuminance', units: ['lx'] },
    pressure: { deviceClass: 'pressure', units: ['hPa', 'kPa', 'Pa', 'bar', 'mbar'] },
    power: { deviceClass: 'power', units: ['W', 'kW', 'mW'] },
    voltage: { deviceClass: 'voltage', units: ['V', 'mV'] },
    battery_voltage: { deviceClass: 'voltage', units: ['V', 'mV'] },
    current: { deviceClass: 'current', units: ['A', 'mA'] },
    frequency: { deviceClass: 'frequency', units: ['Hz', 'kHz'] },
    battery: { deviceClass: 'battery', units: ['%'] },
    co2: { deviceClass: 'carbon_dioxide', units: ['ppm'] },
    carbon_monoxide: { deviceClass: 'carbon_monoxide', units: ['ppm'] },
    pm1: { deviceClass: 'pm1', units: ['µg/m³'] },
    pm25: { deviceClass: 'pm25', units: ['µg/m³'] },
    pm10: { deviceClass: 'pm10', units: ['µg/m³'] },
    nitrogen_dioxide: { deviceClass: 'nitrogen_dioxide', units: ['µg/m³'] },
    ozone: { deviceClass: 'ozone', units: ['µg/m³'] },
    time_left: { deviceClass: 'duration', units: ['s', 'min', 'h'] },
  }),
);

/** Of readings that are true or false (home-assistant.io/integrations/binary_sensor, device class); `on` is what is told here. */
const BINARY: ReadonlyMap<string, string> = new Map(
  Object.entries({
    occupancy: 'occupancy',
    contact: 'opening',
    leak: 'moisture',
    rain: 'moisture',
    freeze: 'cold',
    fault: 'problem',
    battery_alert: 'battery',
  }),
);

/** Members of the announcement of a measurement. Only what is counted up for ever may be summed, and that is energy. */
export function measurementClass({ kind, unit }: Pick<SensorInfo, 'kind' | 'unit'>): Readonly<Record<string, string>> {
  if (unit === '') return {};
  if (kind === 'energy') return { device_class: 'energy', unit_of_measurement: unit, state_class: 'total_increasing' };
  const found = MEASURED.get(kind);
  const isKnown = found?.units.includes(unit) === true;
  return { ...(isKnown && { device_class: found.deviceClass }), unit_of_measurement: unit, state_class: 'measurement' };
}

/** The class of what is true or false; none where Home Assistant has no word for it. */
export function binaryClass(kind: string): Readonly<Record<string, string>> {
  const deviceClass = BINARY.get(kind);
  return deviceClass === undefined ? {} : { device_class: deviceClass };
}
