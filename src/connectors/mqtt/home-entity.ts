import type { Device } from '../../core/devices/device-model.ts';
import type { Reading, SensorInfo } from '../../core/devices/reading-store.ts';
import type { JsonObject } from '../../core/json.ts';
import { type Commandable, commandableOf, THERMOSTAT_MODES } from './bridge-command.ts';
import type { BridgeTopics } from './bridge-topics.ts';
import { binaryClass, measurementClass } from './sensor-classes.ts';

/** One entity of Home Assistant (home-assistant.io/integrations/mqtt, discovery). */
export interface HomeEntity {
  readonly component: 'sensor' | 'binary_sensor' | 'light' | 'switch' | 'climate' | 'cover';
  /** The reading that it is made from. */
  readonly main: Reading;
  /** What only this component has; topics among it. */
  readonly config: JsonObject;
}

/** A device with its readings. */
export interface BridgedDevice {
  readonly id: string;
  readonly readings: readonly Reading[];
  /** Absent for what the board itself has. */
  readonly device?: Device;
  /** Whether commands for what a reading shows are taken. */
  readonly isControlled: (sensor: SensorInfo) => boolean;
}

/** What Home Assistant shows of a device: what can be controlled as that, everything else as a sensor. */
export function entitiesOf(device: BridgedDevice, topics: BridgeTopics): readonly HomeEntity[] {
  const controlled = controlledEntities(device, topics);
  const shown = new Set(controlled.flatMap(({ readings }) => readings));
  const sensors = device.readings
    .filter((reading) => !shown.has(reading) && reading.value !== null)
    .map((reading) => sensorEntity(reading, topics));
  return [...controlled.map(({ entity }) => entity), ...sensors];
}

interface Controlled {
  readonly entity: HomeEntity;
  /** The readings that need no entity of their own any more. */
  readonly readings: readonly Reading[];
}

function controlledEntities(device: BridgedDevice, topics: BridgeTopics): readonly Controlled[] {
  return device.readings.flatMap((reading): readonly Controlled[] => {
    if (!device.isControlled(reading.sensor)) return [];
    switch (commandableOf(reading.sensor)) {
      case 'output':
      case 'on_off':
        return [onOffEntity(device, reading, topics)];
      case 'mode':
        return climateEntity(device, reading, topics);
      case 'cover':
        return [{ entity: coverEntity(reading, topics), readings: [reading] }];
      default:
        return [];
    }
  });
}

function onOffEntity(device: BridgedDevice, main: Reading, topics: BridgeTopics): Controlled {
  const isLight = device.device?.deviceTypes[0]?.endsWith('Light') === true;
  const suffix = main.sensor.name.slice('is_on'.length);
  const brightness = isLight ? device.readings.find(({ sensor }) => sensor.name === `brightness${suffix}`) : undefined;
  const config = {
    command_topic: topics.command(main.sensor.id),
    ...(brightness && {
      brightness_state_topic: topics.state(brightness.sensor.id),
      brightness_command_topic: topics.command(brightness.sensor.id),
      brightness_scale: 100,
      // Else a light that is dimmed is told two things at once.
      on_command_type: 'brightness',
    }),
  };
  return { entity: { component: isLight ? 'light' : 'switch', main, config }, readings: brightness ? [main, brightness] : [main] };
}

function climateEntity(device: BridgedDevice, mode: Reading, topics: BridgeTopics): readonly Controlled[] {
  const find = (wanted: Commandable) => device.readings.find(({ sensor }) => commandableOf(sensor) === wanted);
  const setpoint = find('heating_setpoint');
  if (!setpoint) return [];
  const present = device.readings.find(({ sensor }) => sensor.name === 'temperature' && sensor.kind === 'temperature');
  const cools = device.readings.some(({ sensor }) => sensor.name === 'cooling_setpoint');
  const config = {
    modes: THERMOSTAT_MODES.filter((word) => cools || word === 'off' || word === 'heat'),
    mode_state_topic: topics.state(mode.sensor.id),
    mode_command_topic: topics.command(mode.sensor.id),
    temperature_state_topic: topics.state(setpoint.sensor.id),
    temperature_command_topic: topics.command(setpoint.sensor.id),
    ...(present && { current_temperature_topic: topics.state(present.sensor.id) }),
    temperature_unit: 'C',
    precision: 0.1,
    temp_step: 0.5,
  };
  return [{ entity: { component: 'climate', main: mode, config }, readings: [mode, setpoint] }];
}

function coverEntity(main: Reading, topics: BridgeTopics): HomeEntity {
  const topic = topics.command(main.sensor.id);
  const config = { position_topic: topics.state(main.sensor.id), set_position_topic: topic, command_topic: topic };
  return { component: 'cover', main, config };
}

function sensorEntity(main: Reading, topics: BridgeTopics): HomeEntity {
  const { sensor, value } = main;
  const isBinary = typeof value === 'boolean';
  const known = isBinary ? binaryClass(sensor.kind) : typeof value === 'number' ? measurementClass(sensor) : {};
  return { component: isBinary ? 'binary_sensor' : 'sensor', main, config: { state_topic: topics.state(sensor.id), ...known } };
}
