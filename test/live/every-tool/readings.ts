import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/core/json.ts';
import type { OwnedHome, SensorView } from './owned-home.ts';
import type { Fact } from './tool-row.ts';

/** Sooner than what a device holds back. */
const SOON = { timeout: 9_000 };

interface ReadingRow {
  readonly home: string;
  readonly given: Fact;
  readonly sensor: string;
  readonly value: Json;
  readonly unit: string;
  /** The device reports it every ten seconds at most (Core §11.7.7.13 BatPercentRemaining). */
  readonly isQuiet?: boolean;
}

function row(home: string, given: Fact, [sensor, value, unit]: readonly [string, Json, string]): ReadingRow {
  return { home, given, sensor, value, unit };
}

/** Raw in the device → what people read. */
const READINGS: readonly ReadingRow[] = [
  row(
    'Garden thermometer',
    ['temperature', 'TemperatureMeasurement', 'MeasuredValue', -1250],
    ['garden-thermometer/temperature', -12.5, '°C'],
  ),
  row('Bath hygrometer', ['humidity', 'RelativeHumidityMeasurement', 'MeasuredValue', 3825], ['bath-hygrometer/humidity', 38.25, '%']),
  row(
    'Garden light sensor',
    ['illuminance', 'IlluminanceMeasurement', 'MeasuredValue', 20_001],
    ['garden-light-sensor/illuminance', 100, 'lx'],
  ),
  row('Barometer', ['pressure', 'PressureMeasurement', 'MeasuredValue', 1021], ['barometer/pressure', 1021, 'hPa']),
  row('Water meter', ['flow', 'FlowMeasurement', 'MeasuredValue', 21], ['water-meter/flow', 2.1, 'm³/h']),
  row('Air monitor', ['air', 'AirQuality', 'AirQuality', 2], ['air-monitor/air_quality', 'fair', '']),
  row('Air monitor', ['air', 'CarbonDioxideConcentrationMeasurement', 'MeasuredValue', 910], ['air-monitor/co2', 910, 'ppm']),
  row('Air monitor', ['air', 'Pm25ConcentrationMeasurement', 'MeasuredValue', 12.5], ['air-monitor/pm25', 12.5, 'µg/m³']),
  row('Hall motion', ['occupancy', 'OccupancySensing', 'Occupancy', { occupied: false }], ['hall-motion/is_occupied', false, '']),
  row('Kitchen window', ['contact', 'BooleanState', 'StateValue', true], ['kitchen-window/is_open', false, '']),
  {
    ...row('Kitchen window', ['contact', 'PowerSource', 'BatPercentRemaining', 73], ['kitchen-window/battery', 36.5, '%']),
    isQuiet: true,
  },
  row('Leak detector', ['leak', 'BooleanState', 'StateValue', false], ['leak-detector/is_leaking', false, '']),
  row('Frost detector', ['freeze', 'BooleanState', 'StateValue', false], ['frost-detector/is_freezing', false, '']),
  row('Rain gauge', ['rain', 'BooleanState', 'StateValue', false], ['rain-gauge/is_raining', false, '']),
  row('Smoke alarm', ['alarm', 'SmokeCoAlarm', 'SmokeState', 1], ['smoke-alarm/smoke', 'warning', '']),
  row('Wall button', ['button', 'Switch', 'CurrentPosition', 0], ['wall-button/switch_position', 0, '']),
  row('Thermostat', ['thermostat', 'Thermostat', 'LocalTemperature', 2175], ['thermostat/temperature', 21.75, '°C']),
  row('Desk plug', ['meter', 'ElectricalPowerMeasurement', 'ActivePower', 61_300], ['desk-plug/power', 61.3, 'W']),
  row('Desk plug', ['meter', 'ElectricalPowerMeasurement', 'Voltage', 229_500], ['desk-plug/voltage', 229.5, 'V']),
  row('Solar roof', ['meter', 'ElectricalPowerMeasurement', 'ActivePower', -3_100_000], ['solar-roof/power', -3100, 'W']),
  {
    ...row('House battery', ['source', 'PowerSource', 'BatPercentRemaining', 150], ['house-battery/battery', 75, '%']),
    isQuiet: true,
  },
  row('Bedroom blind', ['covering', 'WindowCovering', 'CurrentPositionLiftPercent100ths', 4000], ['bedroom-blind/open_percent', 60, '%']),
  row('Living room lamp', ['light', 'LevelControl', 'CurrentLevel', 127], ['living-room-lamp/brightness', 50, '%']),
  row('Bedroom lamp', ['light', 'ColorControl', 'ColorTemperatureMireds', 200], ['bedroom-lamp/color_temperature', 5000, 'K']),
  row('Well pump', ['pump', 'PumpConfigurationAndControl', 'Capacity', 15_000], ['well-pump/capacity', 75, '%']),
  row(
    'Bath sensor',
    ['temperature', 'TemperatureMeasurement', 'MeasuredValue', 1990],
    ['bath-sensor-temperature-sensor/temperature', 19.9, '°C'],
  ),
  row('Bath sensor', ['humidity', 'RelativeHumidityMeasurement', 'MeasuredValue', 5100], ['bath-sensor-humidity-sensor/humidity', 51, '%']),
  row('Bath sensor', ['contact', 'BooleanState', 'StateValue', true], ['bath-sensor-contact-sensor/is_open', false, '']),
  row('Fridge', ['freezer', 'TemperatureMeasurement', 'MeasuredValue', -1950], ['fridge-cabinet-2/temperature', -19.5, '°C']),
  row(
    'Attic bridge',
    ['attic-thermometer', 'TemperatureMeasurement', 'MeasuredValue', 3105],
    ['attic-thermometer/temperature', 31.05, '°C'],
  ),
  row('Attic bridge', ['attic-window', 'BooleanState', 'StateValue', true], ['attic-window/is_open', false, '']),
];

/** query_sensor says 1 and 0 for true and false, so that they can be summed up. */
function countable(value: Json): Json {
  return typeof value === 'boolean' ? Number(value) : value;
}

/** What sensors of the devices measure, as people read it. */
export function describeReadings(ownedHome: () => OwnedHome): void {
  const sensorOf = async (id: string): Promise<SensorView | undefined> => (await ownedHome().sensors()).find((sensor) => sensor.id === id);

  describe('readings', () => {
    test.concurrent.for(READINGS)('$sensor reads $value $unit', async ({ home, given, sensor, value, unit, isQuiet }, { expect }) => {
      const { hub } = ownedHome();
      expect((await sensorOf(sensor))?.value, `${sensor} before`).not.toEqual(value);
      const setMs = performance.now();
      await ownedHome()
        .device(home)
        .set(...given);
      await expect.poll(async () => (await sensorOf(sensor))?.value, isQuiet ? {} : SOON).toEqual(value);
      const now = await sensorOf(sensor);
      expect(now).toMatchObject({ unit, reachability: 'reachable' });
      expect(now?.age_ms, 'age in ms').toBeLessThanOrEqual(performance.now() - setMs);
      const answer = await hub.result('core:query_sensor', { sensor_id: sensor });
      expect(answer).toMatchObject({ sensor_id: sensor, unit, values: [{ value: countable(value) }] });
    });

    test('read_temperature finds the sensor of an area and tells it in the unit asked for', async () => {
      const { hub } = ownedHome();
      await ownedHome().device('Garden thermometer').set('temperature', 'TemperatureMeasurement', 'MeasuredValue', 2150);
      await expect.poll(async () => (await sensorOf('garden-thermometer/temperature'))?.value).toBe(21.5);
      const read = (unit: string) => hub.result('core:read_temperature', { location: 'Garden', unit });
      expect(await read('celsius')).toMatchObject({ value: 21.5, unit: 'celsius', sensor_id: 'garden-thermometer/temperature' });
      expect(await read('fahrenheit')).toMatchObject({ value: 70.7, unit: 'fahrenheit' });
      expect(await read('kelvin')).toMatchObject({ value: 294.65, unit: 'kelvin' });
    });

    test('a value that a device does not know is null', async () => {
      await ownedHome().device('Garden thermometer').set('temperature', 'TemperatureMeasurement', 'MeasuredValue', null);
      await expect.poll(async () => (await sensorOf('garden-thermometer/temperature'))?.value).toBeNull();
    });
  });
}
