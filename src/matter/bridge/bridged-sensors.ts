import '../matter-platform.ts';
import { OccupancySensingServer } from '@matter/main/behaviors/occupancy-sensing';
import { ContactSensorDevice } from '@matter/main/devices/contact-sensor';
import { HumiditySensorDevice } from '@matter/main/devices/humidity-sensor';
import { LightSensorDevice } from '@matter/main/devices/light-sensor';
import { OccupancySensorDevice } from '@matter/main/devices/occupancy-sensor';
import { PressureSensorDevice } from '@matter/main/devices/pressure-sensor';
import { TemperatureSensorDevice } from '@matter/main/devices/temperature-sensor';
import { WaterLeakDetectorDevice } from '@matter/main/devices/water-leak-detector';

/** The device types of bridged sensors. */
export const SENSORS = {
  contact_sensor: ContactSensorDevice,
  leak_sensor: WaterLeakDetectorDevice,
  occupancy_sensor: OccupancySensorDevice.with(OccupancySensingServer.with('PassiveInfrared')),
  temperature_sensor: TemperatureSensorDevice,
  humidity_sensor: HumiditySensorDevice,
  pressure_sensor: PressureSensorDevice,
  light_sensor: LightSensorDevice,
};
