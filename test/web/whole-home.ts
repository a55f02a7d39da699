import type { Json } from '../../src/core/json.ts';
import type { DeviceView, ReadingView } from '../../src/web/api/hub-types.ts';
import { deviceView, readingView } from './home-fixture.ts';

/**
 * Every device of the virtual home (test/home/home.json) as a hub lists it: name, room, device types, readings with kind, value and unit,
 * and the actions of its tools. Reading and scene tools are left out.
 */
const TABLE = `
Hall light | Hall | OnOffLight | is_on on_off false | turn_off turn_on turn_on_for
Bedroom lamp | Bedroom | ExtendedColorLight | brightness brightness 100 %; color_mode color_mode "color_temperature"; color_temperature color_temperature 4000 K; hue hue 0 °; is_on on_off false; saturation saturation 0 % | adjust_brightness set_brightness set_color set_color_temperature stop_color_change turn_off turn_on turn_on_for
Living room lamp | Living room | DimmableLight | brightness brightness 100 %; is_on on_off false | adjust_brightness set_brightness turn_off turn_on turn_on_for
Kitchen ceiling | Kitchen | ColorTemperatureLight | brightness brightness 100 %; color_mode color_mode "color_temperature"; color_temperature color_temperature 4000 K; is_on on_off false | adjust_brightness set_brightness set_color_temperature stop_color_change turn_off turn_on turn_on_for
Party light | Living room | OnOffLight | is_on on_off false | turn_off turn_on turn_on_for vendor_1_read
Desk plug | Study | OnOffPlugInUnit ElectricalSensor | current current 0.054 A; energy energy 1.234 kWh; is_on on_off false; power power 12.5 W; voltage voltage 230 V | turn_off turn_on turn_on_for
Front door | Hall | DoorLock | door_state door "door_closed"; lock_state lock "locked" | lock unlock unlock_for
Thermostat | Living room | Thermostat | cooling_setpoint setpoint 26 °C; heating_setpoint setpoint 20 °C; mode thermostat_mode "heat"; temperature temperature 20.5 °C | adjust_temperature set_mode set_temperature
Bedroom blind | Bedroom | WindowCovering | open_percent cover_position 100 %; tilt_percent cover_tilt 100 % | close open set_position set_tilt stop
Bedroom fan | Bedroom | Fan | fan_mode fan_mode "off"; speed fan_speed 0 % | set_fan_mode set_rocking set_speed step_speed stop_fan
Air purifier | Living room | AirPurifier | carbon_filter_change filter_alert "ok"; carbon_filter_condition filter 70 %; fan_mode fan_mode "off"; hepa_filter_change filter_alert "ok"; hepa_filter_condition filter 40 %; speed fan_speed 0 % | reset_carbon_filter reset_hepa_filter set_fan_mode set_rocking set_speed step_speed stop_fan
Study air conditioner | Study | RoomAirConditioner | cooling_setpoint setpoint 24 °C; fan_mode fan_mode "off"; is_on on_off false; mode thermostat_mode "off"; speed fan_speed 0 %; temperature temperature 27 °C | adjust_temperature set_fan_mode set_mode set_rocking set_speed set_temperature step_speed stop_fan turn_off turn_on
Garden thermometer | Garden | TemperatureSensor | temperature temperature 21.5 °C | 
Bath hygrometer | Bathroom | HumiditySensor | humidity humidity 45.5 % | 
Garden light sensor | Garden | LightSensor | illuminance illuminance 100 lx | 
Barometer | Garden | PressureSensor | pressure pressure 1013 hPa | 
Water meter | Cellar | FlowSensor | flow flow 1.2 m³/h | 
Air monitor | Bedroom | AirQualitySensor | air_quality air_quality "good"; co2 co2 600 ppm; pm25 pm25 8 µg/m³ | 
Hall motion | Hall | OccupancySensor | is_occupied occupancy false | 
Kitchen window | Kitchen | ContactSensor PowerSource | battery battery 80 %; battery_level battery_level "ok"; battery_replacement_needed battery_alert false; is_open contact false | 
Bath sensor | Bathroom | RootNode |  | 
Bath sensor temperature sensor | Bathroom | TemperatureSensor | temperature temperature 21.5 °C | 
Bath sensor humidity sensor | Bathroom | HumiditySensor | humidity humidity 45.5 % | 
Bath sensor contact sensor | Bathroom | ContactSensor PowerSource | battery battery 80 %; battery_level battery_level "ok"; battery_replacement_needed battery_alert false; is_open contact false | 
Leak detector | Cellar | WaterLeakDetector | is_leaking leak false | 
Smoke alarm | Hall | SmokeCoAlarm | alarm alarm "normal"; battery_alert battery_alert "normal"; carbon_monoxide_alarm carbon_monoxide_alarm "normal"; hardware_fault fault false; smoke smoke "normal" | test_alarm
Wall button | Bedroom | GenericSwitch | switch_position switch 0 | 
Reading light | Study | ExtendedColorLight | brightness brightness 100 %; color_mode color_mode "color_temperature"; color_temperature color_temperature 4000 K; color_x chromaticity 0.3805; color_y chromaticity 0.3769; is_on on_off false | adjust_brightness set_brightness set_color set_color_temperature stop_color_change turn_off turn_on turn_on_for
Stage plug | Living room | DimmablePlugInUnit | brightness brightness 100 %; is_on on_off false | adjust_brightness set_brightness turn_off turn_on turn_on_for
Rain gauge | Garden | RainSensor | is_raining rain false | 
Frost detector | Cellar | WaterFreezeDetector | is_freezing freeze false | 
Attic bridge | Attic | Aggregator |  | 
Attic light | Attic | OnOffLight | is_on on_off false | turn_off turn_on turn_on_for
Attic plug | Attic | OnOffPlugInUnit | is_on on_off false | turn_off turn_on turn_on_for
Attic thermometer | Attic | TemperatureSensor | temperature temperature 19 °C | 
Attic window | Attic | ContactSensor PowerSource | battery battery 80 %; battery_level battery_level "ok"; battery_replacement_needed battery_alert false; is_open contact false | 
Garden valve | Garden | WaterValve | open_percent valve_position 0 %; valve_state valve "closed" | close open
Robot | Hall | RoboticVacuumCleaner | clean_mode mode "vacuum"; current_area area null; operational_state operational_state "docked"; run_mode mode "idle" | go_home pause resume select_areas set_clean_mode set_run_mode
Well pump | Garden | Pump | capacity pump_capacity 10 %; has_fault fault false; is_on on_off false; is_running pump_running false; pump_speed pump_speed 1500 rpm | set_control_mode set_operation_mode turn_off turn_on
Washer | Cellar | LaundryWasher | is_on on_off true; operational_state operational_state "stopped"; program mode "normal"; seconds_left time_left 1800 s | pause resume set_program set_rinses set_spin_speed set_temperature_level start stop turn_off turn_on
Microwave | Kitchen | MicrowaveOven | microwave_mode mode "normal"; operational_state operational_state "stopped"; seconds_left time_left 1800 s | add_time pause resume set_cooking start stop
Dishwasher | Kitchen | Dishwasher | is_on on_off true; operational_state operational_state "stopped"; program mode "normal"; seconds_left time_left 1800 s | pause resume set_program set_temperature_level start stop turn_off turn_on
Oven | Kitchen | Oven |  | 
Oven cabinet | Kitchen | TemperatureControlledCabinet | operational_state operational_state "stopped"; oven_mode mode "bake"; seconds_left time_left 1800 s; temperature temperature 22 °C; temperature_setting setpoint 180 °C | set_oven_mode set_temperature start stop
Fridge | Kitchen | Refrigerator | door_open_alarm door_alarm false | 
Fridge cabinet 1 | Kitchen | TemperatureControlledCabinet | cooling_mode mode "normal"; temperature temperature 4 °C; temperature_setting setpoint 4 °C | set_cooling_mode set_temperature
Fridge cabinet 2 | Kitchen | TemperatureControlledCabinet | cooling_mode mode "normal"; temperature temperature -18 °C; temperature_setting setpoint -18 °C | set_cooling_mode set_temperature
Cooker hood | Kitchen | ExtractorHood | fan_mode fan_mode "off"; speed fan_speed 0 % | set_fan_mode set_rocking set_speed step_speed stop_fan
Television | Living room | BasicVideoPlayer | is_on on_off true; playback_state playback "not_playing" | pause_playback play send_key stop_playback turn_off turn_on
Speaker | Living room | Speaker | is_unmuted on_off true; volume volume 50 % | adjust_volume mute set_volume unmute
Solar roof | Garden | SolarPower ElectricalSensor PowerSource | current current -10.435 A; energy_exported energy 5.6 kWh; power power -2400 W; voltage voltage 230 V | 
House battery | Cellar | BatteryStorage ElectricalSensor PowerSource | battery battery 63 %; battery_charging battery_charging "charging"; battery_level battery_level "ok"; battery_replacement_needed battery_alert false; current current 3.478 A; energy energy 9 kWh; energy_exported energy 8 kWh; power power 800 W; voltage voltage 230 V | 
Car charger | Garage | EnergyEvse ElectricalSensor | charger_state charger "plugged_in_demand"; charging_mode mode "manual"; current current 0.054 A; energy energy 1.234 kWh; fault fault "no_error"; power power 12.5 W; session_energy energy null kWh; supply_state charger_supply "disabled"; voltage voltage 230 V | disable_charging enable_charging set_charging_mode
Dryer | Cellar | LaundryDryer | is_on on_off true; operational_state operational_state "stopped"; program mode "normal"; seconds_left time_left 1800 s | pause resume set_dryness set_program start stop turn_off turn_on
Boiler | Cellar | WaterHeater | boost_state boost "inactive"; heater_mode mode "manual"; heating_setpoint setpoint 55 °C; hot_water tank 80 %; mode thermostat_mode "heat"; temperature temperature 52 °C | adjust_temperature set_heater_mode set_mode set_temperature start_boost stop_boost
`;

/** The devices of the virtual home, in the order in which they stand in the table. */
export const WHOLE_HOME: readonly DeviceView[] = TABLE.trim().split('\n').map(deviceOfRow);

function deviceOfRow(row: string): DeviceView {
  const [name = '', area = '', types = '', readings = '', actions = ''] = row.split('|').map((cell) => cell.trim());
  const id = name.toLowerCase().replaceAll(' ', '-');
  return deviceView(id, {
    name,
    area,
    device_types: types.split(' '),
    readings: words(readings, '; ').map((text) => readingOfText(id, text)),
    tools: words(actions, ' ').map((action) => `matter:${id.replaceAll('-', '_')}_${action}@1.0.0`),
  });
}

function readingOfText(device: string, text: string): ReadingView {
  const [name = '', kind = '', value = '', unit = ''] = text.split(' ');
  return readingView(device, name, { kind, value: JSON.parse(value) as Json, unit });
}

function words(text: string, between: string): readonly string[] {
  return text === '' ? [] : text.split(between);
}

/** Returns a home of this many devices: those of the virtual home that show something, and spots in their rooms. */
export function homeOfSize(count: number): readonly DeviceView[] {
  const known = WHOLE_HOME.filter(({ readings }) => readings.length > 0).slice(0, count);
  const spots = Array.from({ length: count - known.length }, (_none, index) => {
    const area = known[index]?.area ?? null;
    return { ...wholeHomeDevice('Attic light'), id: `spot-${index}`, name: `Spot ${index}`, area };
  });
  return [...known, ...spots];
}

/** Returns a device of the virtual home with other values of some readings. */
export function wholeHomeDevice(name: string, values: Readonly<Record<string, Json>> = {}): DeviceView {
  const device = WHOLE_HOME.find((one) => one.name === name) ?? deviceView(name);
  const readings = device.readings.map((reading) => ({ ...reading, value: values[reading.name] ?? reading.value }));
  return { ...device, readings };
}
