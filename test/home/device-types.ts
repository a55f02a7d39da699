import type { DeviceType } from './part.ts';
import { SMOKE_CO_ALARM, WATER_LEAK_DETECTOR } from './types/alarms.ts';
import { DISHWASHER, LAUNDRY_WASHER, MICROWAVE_OVEN } from './types/appliances.ts';
import { BRIDGE } from './types/bridge.ts';
import { BUTTON } from './types/buttons.ts';
import { ROOM_AIR_CONDITIONER, THERMOSTAT } from './types/climate.ts';
import { WINDOW_COVERING } from './types/covering.ts';
import { BATTERY_STORAGE, ENERGY_EVSE, METERED_PLUG, SOLAR_POWER } from './types/energy.ts';
import { AIR_PURIFIER, EXTRACTOR_HOOD, FAN } from './types/fans.ts';
import { OVEN, REFRIGERATOR } from './types/kitchen.ts';
import * as lights from './types/lights.ts';
import { DOOR_LOCK } from './types/lock.ts';
import { SPARKLING_LIGHT } from './types/manufacturer.ts';
import { SPEAKER, VIDEO_PLAYER } from './types/media.ts';
import * as sensors from './types/sensors.ts';
import { ROBOT_VACUUM } from './types/vacuum.ts';
import { PUMP, WATER_VALVE } from './types/water.ts';

/** Every kind of device that a home can hold, by the name used in home.json. */
export const DEVICE_TYPES: Readonly<Record<string, DeviceType>> = {
  'on-off-light': lights.ON_OFF_LIGHT,
  'dimmable-light': lights.DIMMABLE_LIGHT,
  'color-temperature-light': lights.COLOR_TEMPERATURE_LIGHT,
  'extended-color-light': lights.EXTENDED_COLOR_LIGHT,
  'metered-plug': METERED_PLUG,
  thermostat: THERMOSTAT,
  'room-air-conditioner': ROOM_AIR_CONDITIONER,
  'temperature-sensor': sensors.TEMPERATURE_SENSOR,
  'humidity-sensor': sensors.HUMIDITY_SENSOR,
  'illuminance-sensor': sensors.ILLUMINANCE_SENSOR,
  'pressure-sensor': sensors.PRESSURE_SENSOR,
  'flow-sensor': sensors.FLOW_SENSOR,
  'air-quality-sensor': sensors.AIR_QUALITY_SENSOR,
  'occupancy-sensor': sensors.OCCUPANCY_SENSOR,
  'contact-sensor': sensors.CONTACT_SENSOR,
  'climate-and-contact-sensor': sensors.CLIMATE_AND_CONTACT_SENSOR,
  'water-leak-detector': WATER_LEAK_DETECTOR,
  'smoke-co-alarm': SMOKE_CO_ALARM,
  'door-lock': DOOR_LOCK,
  'window-covering': WINDOW_COVERING,
  fan: FAN,
  'air-purifier': AIR_PURIFIER,
  'extractor-hood': EXTRACTOR_HOOD,
  'water-valve': WATER_VALVE,
  pump: PUMP,
  'robot-vacuum': ROBOT_VACUUM,
  'laundry-washer': LAUNDRY_WASHER,
  dishwasher: DISHWASHER,
  'microwave-oven': MICROWAVE_OVEN,
  oven: OVEN,
  refrigerator: REFRIGERATOR,
  button: BUTTON,
  bridge: BRIDGE,
  'video-player': VIDEO_PLAYER,
  speaker: SPEAKER,
  'solar-power': SOLAR_POWER,
  'battery-storage': BATTERY_STORAGE,
  'energy-evse': ENERGY_EVSE,
  'sparkling-light': SPARKLING_LIGHT,
};
