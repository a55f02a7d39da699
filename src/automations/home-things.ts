import { deviceText } from '../core/devices/action-descriptions.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import { type DeviceFacts, type HomeNames, parseSensorId } from '../core/devices/device-names.ts';
import type { ReadingStore } from '../core/devices/sensor-readings.ts';
import type { DeviceId, SensorId } from '../core/ids.ts';
import type { CallerRights } from '../tools/definition/tool-definition.ts';
import { canSeeDevice, type DeviceNames, deviceNames, resolveSensor } from '../tools/names/resolve-names.ts';

/** Port: a scene with its id and its name for people. */
interface NamedScene {
  readonly id: string;
  readonly name: string;
}

interface HomeThingsParts {
  readonly devices: Pick<DeviceDirectory, 'get' | 'list'>;
  readonly readings: Pick<ReadingStore, 'current' | 'sensors'>;
  readonly names: HomeNames;
  readonly scenes: {
    get(id: string): NamedScene | undefined;
    /** Returns the scene with this id or name. */
    find(text: string): NamedScene | undefined;
  };
}

/** The kinds of things that an automation names and is bound to by id. */
export type ThingKind = 'device' | 'sensor' | 'scene';

const THINGS: Readonly<Record<string, ThingKind>> = {
  device_id: 'device',
  device_ids: 'device',
  sensor_id: 'sensor',
  scene_id: 'scene',
  scene: 'scene',
};

/** Returns the kind of thing that a member of a trigger, a condition or a call's parameters names; undefined if it names none. */
export function thingNamedBy(member: string): ThingKind | undefined {
  return Object.hasOwn(THINGS, member) ? THINGS[member] : undefined;
}

/** Finds the ids of the devices, sensors and scenes that an automation names, and their names of today. */
export class HomeThings {
  readonly #parts: HomeThingsParts;
  readonly #devices: DeviceNames;

  constructor(parts: HomeThingsParts) {
    this.#parts = parts;
    this.#devices = deviceNames(() => parts.devices.list(), parts.names);
  }

  /**
   * Returns the id of what the caller means by an id or a name. Throws DEVICE_NOT_FOUND, SENSOR_NOT_FOUND or AMBIGUOUS_DEVICE; the error is
   * the same whether a thing does not exist or the caller may not see it. A scene that is unknown, or that the caller may not see, keeps its text.
   */
  idOf(kind: ThingKind, text: string, caller: CallerRights): string {
    if (kind === 'scene') return this.#sceneId(text, caller) ?? text;
    return kind === 'device' ? this.#devices.resolve(text, caller) : resolveSensor(text, this.#parts.readings.sensors(), caller);
  }

  #sceneId(text: string, caller: CallerRights): string | undefined {
    const id = this.#parts.scenes.find(text)?.id;
    return id !== undefined && caller.canSee(`scene:read:${id}`) ? id : undefined;
  }

  /** Returns the name of today of what has the id; undefined if nothing has it. */
  nameOf(kind: ThingKind, id: string): string | undefined {
    const { devices, readings, scenes } = this.#parts;
    if (kind === 'scene') return scenes.get(id)?.name;
    return kind === 'device' ? devices.get(id as DeviceId)?.name : readings.current(id as SensorId)?.sensor.title;
  }

  /** Returns the name as `nameOf` does, and undefined also if the caller may not see the thing. */
  nameFor(kind: ThingKind, id: string, caller: CallerRights): string | undefined {
    const isSeen = kind === 'device' ? canSeeDevice(id as DeviceId, caller) : caller.canSee(`${kind}:read:${id}`);
    return isSeen ? this.nameOf(kind, id) : undefined;
  }
}

/** Returns the name of a device with its room, or its id if it has no name. */
export function deviceName(id: string, { facts }: { readonly facts: DeviceFacts }): string {
  const device = facts.namedDevice(id);
  return deviceText(id, device ? [device] : []);
}

/** Returns what a sensor measures, such as `Hall sensor temperature`; its id for a sensor that is gone. */
export function sensorName(id: string, { readings }: { readonly readings: Pick<ReadingStore, 'current'> }): string {
  return readings.current(parseSensorId(id))?.sensor.title ?? id;
}
