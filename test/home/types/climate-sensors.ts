import { PowerSourceServer } from '@matter/main/behaviors/power-source';
import { ContactSensorDevice } from '@matter/main/devices/contact-sensor';
import { HumiditySensorDevice } from '@matter/main/devices/humidity-sensor';
import { TemperatureSensorDevice } from '@matter/main/devices/temperature-sensor';
import type { DeviceType, Part } from '../part.ts';

/** 21.5 °C between -40 and 125. */
const temperature: Part = {
  id: 'temperature',
  type: TemperatureSensorDevice,
  state: { temperatureMeasurement: { measuredValue: 2150, minMeasuredValue: -4000, maxMeasuredValue: 12_500 } },
};

/** 45.5 %. */
const humidity: Part = {
  id: 'humidity',
  type: HumiditySensorDevice,
  state: { relativeHumidityMeasurement: { measuredValue: 4550, minMeasuredValue: 0, maxMeasuredValue: 10_000 } },
};

/** A window that is closed, with a battery at 80 %. */
const contact: Part = {
  id: 'contact',
  type: ContactSensorDevice.with(PowerSourceServer.with('Battery')),
  state: {
    booleanState: { stateValue: true },
    powerSource: {
      status: 1,
      order: 0,
      description: 'Battery',
      batChargeLevel: 0,
      batPercentRemaining: 160,
      batReplacementNeeded: false,
      batReplaceability: 2,
    },
  },
};

export const TEMPERATURE_SENSOR: DeviceType = { parts: [temperature] };
export const HUMIDITY_SENSOR: DeviceType = { parts: [humidity] };
export const CONTACT_SENSOR: DeviceType = { parts: [contact] };

/** One product that measures and watches: three endpoints, one device. */
export const CLIMATE_AND_CONTACT_SENSOR: DeviceType = { parts: [temperature, humidity, contact] };
