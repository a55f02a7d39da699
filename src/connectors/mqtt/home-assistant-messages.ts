import type { Device } from '../../core/devices/device-model.ts';
import { parseDeviceId } from '../../core/devices/device-names.ts';
import type { Reading, SensorInfo } from '../../core/devices/sensor-readings.ts';
import { slug } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import type { ConnectorContext } from '../connector.ts';
import { type CommandKind, commandKindOf, THERMOSTAT_MODES } from './home-assistant-commands.ts';
import type { BridgeConfig } from './mqtt-config.ts';

/** State of the home that is published on the broker. */
interface HomeSnapshot extends Pick<ConnectorContext, 'devices' | 'hub'> {
  readonly readings: readonly Reading[];
  readonly isControlled: (sensor: SensorInfo) => boolean;
}

/** Returns all messages that the broker must retain for the home: payloads by topic. */
export function retainedMessages(
  { readings, devices, hub, isControlled }: HomeSnapshot,
  topics: BridgeTopics,
): ReadonlyMap<string, string> {
  const states = new Map<string, string>();
  for (const [id, own] of Map.groupBy(readings, ({ sensor }) => sensor.device)) {
    const device = devices.get(parseDeviceId(id));
    const bridged: BridgedDevice = { id, readings: own, ...(device && { device }), isControlled };
    for (const entity of entitiesOf(bridged, topics)) states.set(...discoveryMessage(entity, bridged, { topics, hub }));
    const isAway = own.every(({ reachability }) => reachability === 'unreachable');
    states.set(topics.available(id), isAway ? 'offline' : 'online');
    for (const reading of own) states.set(topics.state(reading.sensor.id), statePayload(reading));
  }
  return states;
}

/** One entity of Home Assistant (home-assistant.io/integrations/mqtt, discovery). */
interface HomeAssistantEntity {
  readonly component: 'sensor' | 'binary_sensor' | 'light' | 'switch' | 'climate' | 'cover';
  /** The reading with the entity's state. */
  readonly main: Reading;
  /** Further fields of the entity's announcement, such as topics. */
  readonly config: JsonObject;
}

interface BridgedDevice {
  readonly id: string;
  readonly readings: readonly Reading[];
  /** The device; absent for the board itself. */
  readonly device?: Device;
  /** Returns whether the bridge may control a sensor's device. For the sensor of a board's output, the result is about that output. */
  readonly isControlled: (sensor: SensorInfo) => boolean;
}

/** Returns the entities of a device. Each part that receives commands is one entity. Each other reading with a value is a sensor. */
function entitiesOf(device: BridgedDevice, topics: BridgeTopics): readonly HomeAssistantEntity[] {
  const controlled = controlledEntities(device, topics);
  const shown = new Set(controlled.flatMap(({ readings }) => readings));
  const sensors = device.readings
    .filter((reading) => !shown.has(reading) && reading.value !== null)
    .map((reading) => sensorEntity(reading, topics));
  return [...controlled.map(({ entity }) => entity), ...sensors];
}

interface ControlledEntity {
  readonly entity: HomeAssistantEntity;
  readonly readings: readonly Reading[];
}

function controlledEntities(device: BridgedDevice, topics: BridgeTopics): readonly ControlledEntity[] {
  return device.readings.flatMap((reading): readonly ControlledEntity[] => {
    if (!device.isControlled(reading.sensor)) return [];
    switch (commandKindOf(reading.sensor)) {
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

function onOffEntity(device: BridgedDevice, main: Reading, topics: BridgeTopics): ControlledEntity {
  const isLight = device.device?.deviceTypes[0]?.endsWith('Light') === true;
  const suffix = main.sensor.name.slice('is_on'.length);
  const brightness = isLight ? device.readings.find(({ sensor }) => sensor.name === `brightness${suffix}`) : undefined;
  const config = {
    command_topic: topics.command(main.sensor.id),
    ...(brightness && {
      brightness_state_topic: topics.state(brightness.sensor.id),
      brightness_command_topic: topics.command(brightness.sensor.id),
      brightness_scale: 100,
      // With this setting, Home Assistant turns on a dimmed light by a single command: the brightness. Otherwise it would send two.
      on_command_type: 'brightness',
    }),
  };
  return { entity: { component: isLight ? 'light' : 'switch', main, config }, readings: brightness ? [main, brightness] : [main] };
}

function climateEntity(device: BridgedDevice, mode: Reading, topics: BridgeTopics): readonly ControlledEntity[] {
  const find = (wanted: CommandKind) => device.readings.find(({ sensor }) => commandKindOf(sensor) === wanted);
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

function coverEntity(main: Reading, topics: BridgeTopics): HomeAssistantEntity {
  const topic = topics.command(main.sensor.id);
  const config = { position_topic: topics.state(main.sensor.id), set_position_topic: topic, command_topic: topic };
  return { component: 'cover', main, config };
}

function sensorEntity(main: Reading, topics: BridgeTopics): HomeAssistantEntity {
  const { sensor, value } = main;
  const isBinary = typeof value === 'boolean';
  const known = isBinary ? binaryClass(sensor.kind) : typeof value === 'number' ? measurementClass(sensor) : {};
  return { component: isBinary ? 'binary_sensor' : 'sensor', main, config: { state_topic: topics.state(sensor.id), ...known } };
}

/** Returns the topic and the payload of the message that announces an entity to Home Assistant. */
function discoveryMessage(
  entity: HomeAssistantEntity,
  device: BridgedDevice,
  { topics, hub }: Pick<HomeSnapshot, 'hub'> & { readonly topics: BridgeTopics },
): readonly [topic: string, payload: string] {
  const { component, main, config } = entity;
  const id = main.sensor.id.replaceAll('/', '_');
  const payload: JsonObject = {
    name: entityName(entity, device),
    unique_id: `${topics.node}_${id}`,
    ...(component !== 'climate' && component !== 'cover' && { state_topic: topics.state(main.sensor.id) }),
    ...config,
    availability: [{ topic: topics.status }, { topic: topics.available(device.id) }],
    availability_mode: 'all',
    device: deviceOf(device, topics),
    origin: { name: 'atmosphere-edge', sw_version: hub.version },
  };
  return [topics.discovery(component, id), JSON.stringify(payload)];
}

/** Returns the name of an entity, or null if the entity represents the device itself (home-assistant.io, has_entity_name). */
function entityName({ component, main }: HomeAssistantEntity, { readings }: BridgedDevice): string | null {
  const isDevice = component !== 'sensor' && component !== 'binary_sensor';
  const hasOthers = readings.some((other) => other !== main && /^is_on/.test(other.sensor.name));
  if (isDevice && !hasOthers) return null;
  const words = main.sensor.name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function deviceOf({ id, device, readings }: BridgedDevice, { node }: BridgeTopics): JsonObject {
  const area = device?.area ?? readings[0]?.sensor.area;
  return {
    identifiers: [`${node}_${id}`],
    name: device?.name ?? id,
    ...(device && { manufacturer: device.vendor.name, model: device.product.name }),
    ...(device?.softwareVersion !== undefined && { sw_version: device.softwareVersion }),
    ...(area !== undefined && { suggested_area: area }),
  };
}

/** The topics of the home on the broker. */
export class BridgeTopics {
  /** Id of this hub in topics. Other hubs have other ids. */
  readonly node: string;
  readonly #base: string;
  readonly #discoveryPrefix: string;

  constructor(hubName: string, { baseTopic, discoveryPrefix }: Pick<BridgeConfig, 'baseTopic' | 'discoveryPrefix'>) {
    const name = slug(hubName, '-') || 'hub';
    this.node = `atmosphere-${name}`;
    this.#base = baseTopic ?? `atmosphere/${name}`;
    this.#discoveryPrefix = discoveryPrefix;
  }

  /** Returns the topic of the hub's state. Its payload is `online`, or `offline` after the hub has stopped or lost the connection. */
  get status(): string {
    return `${this.#base}/status`;
  }

  get errors(): string {
    return `${this.#base}/errors`;
  }

  /** Returns the topic on which Home Assistant announces that it has started. */
  get homeAssistantStatus(): string {
    return `${this.#discoveryPrefix}/status`;
  }

  /** Returns the topic filter for all commands. */
  get commandFilter(): string {
    return this.command('#');
  }

  /** Returns the topic filter for the announcements of all entities of this hub, including those that it announced in earlier runs. */
  get discoveryFilter(): string {
    return this.discovery('+', '+');
  }

  available(device: string): string {
    return `${this.#base}/available/${device}`;
  }

  state(sensor: string): string {
    return `${this.#base}/state/${sensor}`;
  }

  command(sensor: string): string {
    return `${this.#base}/set/${sensor}`;
  }

  /** Returns the id of the sensor to which a command topic belongs; undefined for other topics. */
  sensorOfCommand(topic: string): string | undefined {
    const prefix = this.command('');
    return topic.startsWith(prefix) ? topic.slice(prefix.length) : undefined;
  }

  /** Returns the topic on which an entity is announced (home-assistant.io/integrations/mqtt, discovery topic). */
  discovery(component: string, entity: string): string {
    return `${this.#discoveryPrefix}/${component}/${this.node}/${entity}/config`;
  }

  isDiscovery(topic: string): boolean {
    const [prefix, component, node, entity, last, ...more] = topic.slice(this.#discoveryPrefix.length).split('/');
    const isWhole = prefix === '' && component !== undefined && entity !== undefined && more.length === 0;
    return topic.startsWith(this.#discoveryPrefix) && isWhole && node === this.node && last === 'config';
  }
}

/** Device class for each kind of reading, and the units of that class (home-assistant.io/integrations/sensor, device class). */
const SENSOR_CLASSES: ReadonlyMap<string, readonly [deviceClass: string, ...units: string[]]> = new Map([
  ['temperature', ['temperature', '°C', '°F', 'K']],
  ['setpoint', ['temperature', '°C', '°F', 'K']],
  ['humidity', ['humidity', '%']],
  ['soil_moisture', ['moisture', '%']],
  ['illuminance', ['illuminance', 'lx']],
  ['pressure', ['pressure', 'hPa', 'kPa', 'Pa', 'bar', 'mbar']],
  ['power', ['power', 'W', 'kW', 'mW']],
  ['voltage', ['voltage', 'V', 'mV']],
  ['battery_voltage', ['voltage', 'V', 'mV']],
  ['current', ['current', 'A', 'mA']],
  ['frequency', ['frequency', 'Hz', 'kHz']],
  ['battery', ['battery', '%']],
  ['co2', ['carbon_dioxide', 'ppm']],
  ['carbon_monoxide', ['carbon_monoxide', 'ppm']],
  ['pm1', ['pm1', 'µg/m³']],
  ['pm25', ['pm25', 'µg/m³']],
  ['pm10', ['pm10', 'µg/m³']],
  ['nitrogen_dioxide', ['nitrogen_dioxide', 'µg/m³']],
  ['ozone', ['ozone', 'µg/m³']],
  ['time_left', ['duration', 's', 'min', 'h']],
]);

/** Device class for each kind of boolean reading (home-assistant.io/integrations/binary_sensor, device class). */
const BINARY_SENSOR_CLASSES: ReadonlyMap<string, string> = new Map(
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

/** Returns the discovery fields of a measurement. Energy is a growing total; all else with a unit is a current value. */
function measurementClass({ kind, unit }: Pick<SensorInfo, 'kind' | 'unit'>): Readonly<Record<string, string>> {
  if (unit === '') return {};
  if (kind === 'energy') return { device_class: 'energy', unit_of_measurement: unit, state_class: 'total_increasing' };
  const [deviceClass, ...units] = SENSOR_CLASSES.get(kind) ?? [];
  const known = deviceClass !== undefined && units.includes(unit) && { device_class: deviceClass };
  return { ...known, unit_of_measurement: unit, state_class: 'measurement' };
}

/** Returns the discovery field with the device class of a boolean reading. It is missing if Home Assistant has no such class. */
function binaryClass(kind: string): Readonly<Record<string, string>> {
  const deviceClass = BINARY_SENSOR_CLASSES.get(kind);
  return deviceClass === undefined ? {} : { device_class: deviceClass };
}

/** Longest state that Home Assistant accepts, in characters. */
const MAX_STATE = 255;

/** Returns a value in Home Assistant's format; `None` means unknown. */
export function statePayload({ value, sensor }: Pick<Reading, 'value' | 'sensor'>): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'ON' : 'OFF';
  return sensor.kind === 'thermostat_mode' ? String(value).toLowerCase() : String(value).slice(0, MAX_STATE);
}
