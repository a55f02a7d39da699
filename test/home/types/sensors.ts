import { AirQualityServer } from '@matter/main/behaviors/air-quality';
import { CarbonDioxideConcentrationMeasurementServer } from '@matter/main/behaviors/carbon-dioxide-concentration-measurement';
import { OccupancySensingServer } from '@matter/main/behaviors/occupancy-sensing';
import { Pm25ConcentrationMeasurementServer } from '@matter/main/behaviors/pm25-concentration-measurement';
import { AirQualitySensorDevice } from '@matter/main/devices/air-quality-sensor';
import { FlowSensorDevice } from '@matter/main/devices/flow-sensor';
import { LightSensorDevice } from '@matter/main/devices/light-sensor';
import { OccupancySensorDevice } from '@matter/main/devices/occupancy-sensor';
import { PressureSensorDevice } from '@matter/main/devices/pressure-sensor';
import type { DeviceType } from '../part.ts';

/** 10000·log10(lux)+1: 20001 is 100 lux. */
export const ILLUMINANCE_SENSOR: DeviceType = {
  parts: [
    {
      id: 'illuminance',
      type: LightSensorDevice,
      state: { illuminanceMeasurement: { measuredValue: 20_001, minMeasuredValue: 1, maxMeasuredValue: 50_000 } },
    },
  ],
};

/** 1013 hPa, in units of 0.1 kPa. */
export const PRESSURE_SENSOR: DeviceType = {
  parts: [
    {
      id: 'pressure',
      type: PressureSensorDevice,
      state: { pressureMeasurement: { measuredValue: 1013, minMeasuredValue: 300, maxMeasuredValue: 1100 } },
    },
  ],
};

/** 1.2 m³/h, in units of 0.1. */
export const FLOW_SENSOR: DeviceType = {
  parts: [
    { id: 'flow', type: FlowSensorDevice, state: { flowMeasurement: { measuredValue: 12, minMeasuredValue: 0, maxMeasuredValue: 1000 } } },
  ],
};

export const OCCUPANCY_SENSOR: DeviceType = {
  parts: [
    {
      id: 'occupancy',
      type: OccupancySensorDevice.with(OccupancySensingServer.with('PassiveInfrared', 'OccupancyEvent')),
      state: { occupancySensing: { occupancy: { occupied: false } } },
    },
  ],
};

/** Good air: 600 ppm of carbon dioxide, 8 µg/m³ of fine dust. */
export const AIR_QUALITY_SENSOR: DeviceType = {
  parts: [
    {
      id: 'air',
      type: AirQualitySensorDevice.with(
        AirQualityServer.with('Fair', 'Moderate', 'VeryPoor', 'ExtremelyPoor'),
        CarbonDioxideConcentrationMeasurementServer.with('NumericMeasurement'),
        Pm25ConcentrationMeasurementServer.with('NumericMeasurement'),
      ),
      state: {
        airQuality: { airQuality: 1 },
        carbonDioxideConcentrationMeasurement: {
          measuredValue: 600,
          minMeasuredValue: 0,
          maxMeasuredValue: 5000,
          measurementUnit: 0,
          measurementMedium: 0,
        },
        pm25ConcentrationMeasurement: {
          measuredValue: 8,
          minMeasuredValue: 0,
          maxMeasuredValue: 1000,
          measurementUnit: 4,
          measurementMedium: 0,
        },
      },
    },
  ],
};
