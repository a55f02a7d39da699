import type { JsonObject } from '../../../../src/core/json.ts';
import { type DeviceRows, device, does, type Fact, tells, within } from '../tool-row.ts';

const STATE = 'StateValue';

/** A device with one tool that tells one thing. */
function sensor(name: string, tool: string, [fact, state]: readonly [Fact, JsonObject]): DeviceRows {
  return device(name, [tells(tool, [fact], state)]);
}

/** 41 % and low. */
const battery = (part: string): readonly Fact[] => [
  [part, 'PowerSource', 'BatPercentRemaining', 82],
  [part, 'PowerSource', 'BatChargeLevel', 1],
];
const BATTERY = { battery: 41, battery_level: 'warning', battery_replacement_needed: false };

export const SENSORS: readonly DeviceRows[] = [
  sensor('Garden thermometer', 'garden_thermometer_get_temperature', [
    ['temperature', 'TemperatureMeasurement', 'MeasuredValue', -725],
    { temperature: -7.25 },
  ]),
  sensor('Bath hygrometer', 'bath_hygrometer_get_humidity', [
    ['humidity', 'RelativeHumidityMeasurement', 'MeasuredValue', 6150],
    { humidity: 61.5 },
  ]),
  // 10,000 × log10(lx) + 1: 1,000 lx.
  sensor('Garden light sensor', 'garden_light_sensor_get_illuminance', [
    ['illuminance', 'IlluminanceMeasurement', 'MeasuredValue', 30_001],
    { illuminance: 1000 },
  ]),
  sensor('Barometer', 'barometer_get_pressure', [['pressure', 'PressureMeasurement', 'MeasuredValue', 987], { pressure: 987 }]),
  sensor('Water meter', 'water_meter_get_flow', [['flow', 'FlowMeasurement', 'MeasuredValue', 34], { flow: 3.4 }]),
  device('Air monitor', [
    tells('air_monitor_get_air_quality', [['air', 'AirQuality', 'AirQuality', 4]], { air_quality: 'poor' }),
    tells('air_monitor_get_co2', [['air', 'CarbonDioxideConcentrationMeasurement', 'MeasuredValue', 1250]], { co2: 1250 }),
    tells('air_monitor_get_pm25', [['air', 'Pm25ConcentrationMeasurement', 'MeasuredValue', 37.5]], { pm25: 37.5 }),
  ]),
  sensor('Hall motion', 'hall_motion_get_occupancy', [
    ['occupancy', 'OccupancySensing', 'Occupancy', { occupied: true }],
    { is_occupied: true },
  ]),
  device('Kitchen window', [
    // Matter's true is a closed contact.
    tells('kitchen_window_get_contact', [['contact', 'BooleanState', STATE, false]], { is_open: true }),
    tells('kitchen_window_get_battery', battery('contact'), BATTERY),
  ]),
  within('Bath sensor', 'Bath sensor temperature sensor', [
    tells('bath_temperature_sensor_get_temperature', [['temperature', 'TemperatureMeasurement', 'MeasuredValue', 2335]], {
      temperature: 23.35,
    }),
  ]),
  within('Bath sensor', 'Bath sensor humidity sensor', [
    tells('bath_sensor_humidity_sensor_get_humidity', [['humidity', 'RelativeHumidityMeasurement', 'MeasuredValue', 7050]], {
      humidity: 70.5,
    }),
  ]),
  within('Bath sensor', 'Bath sensor contact sensor', [
    tells('bath_sensor_contact_sensor_get_contact', [['contact', 'BooleanState', STATE, false]], { is_open: true }),
    tells('bath_sensor_contact_sensor_get_battery', battery('contact'), BATTERY),
  ]),
  within('Attic bridge', 'Attic thermometer', [
    tells('attic_thermometer_get_temperature', [['attic-thermometer', 'TemperatureMeasurement', 'MeasuredValue', 1725]], {
      temperature: 17.25,
    }),
  ]),
  within('Attic bridge', 'Attic window', [
    tells('attic_window_get_contact', [['attic-window', 'BooleanState', STATE, false]], { is_open: true }),
    tells('attic_window_get_battery', battery('attic-window'), BATTERY),
  ]),
  sensor('Leak detector', 'leak_detector_get_leak', [['leak', 'BooleanState', STATE, true], { is_leaking: true }]),
  sensor('Frost detector', 'frost_detector_get_freeze', [['freeze', 'BooleanState', STATE, true], { is_freezing: true }]),
  sensor('Rain gauge', 'rain_gauge_get_rain', [['rain', 'BooleanState', STATE, true], { is_raining: true }]),
  sensor('Wall button', 'wall_button_get_switch', [['button', 'Switch', 'CurrentPosition', 1], { switch_position: 1 }]),
  device('Smoke alarm', [
    does(
      'smoke_alarm_test_alarm',
      {},
      {
        raw: [['alarm', 'SmokeCoAlarm', 'TestInProgress', true]],
        later: [['alarm', 'SmokeCoAlarm', 'TestInProgress', false]],
        state: { test_in_progress: true, alarm: 'testing' },
      },
    ),
    tells(
      'smoke_alarm_get_alarm',
      [
        ['alarm', 'SmokeCoAlarm', 'SmokeState', 2],
        ['alarm', 'SmokeCoAlarm', 'CoState', 1],
        ['alarm', 'SmokeCoAlarm', 'BatteryAlert', 1],
      ],
      { smoke: 'critical', carbon_monoxide_alarm: 'warning', battery_alert: 'warning', hardware_fault: false },
    ),
  ]),
];
