import type { MeshPorts } from '../calls/mesh-ports.ts';
import type { BridgedEndpoint, BridgedValues } from '../core/devices/matter-bridge.ts';
import type { ReadingStore } from '../core/devices/sensor-readings.ts';
import type { SensorId } from '../core/ids.ts';
import { type Json, present } from '../core/json.ts';
import type { BridgeEntry } from './bridge-entry.ts';
import { type BridgedThing, CAN_BE_UNKNOWN, valuesFrom } from './bridged-things.ts';

interface ShownParts {
  readonly readings: Pick<ReadingStore, 'current'>;
  readonly mesh: Pick<MeshPorts, 'view'>;
}

/** What the ecosystems are shown of the chosen things: the readings of this hub, and the values that other hubs reported. */
export class ShownValues {
  readonly #parts: ShownParts;
  /** Values of things of other hubs, by hub and sensor. */
  readonly #remote = new Map<string, Json>();

  constructor(parts: ShownParts) {
    this.#parts = parts;
  }

  /** Returns a thing as its bridge presents it now. */
  endpointOf(entry: BridgeEntry): BridgedEndpoint {
    const { id, endpointNumber, thing } = entry;
    return {
      id,
      ...present({ number: endpointNumber }),
      kind: thing.kind,
      name: thing.name,
      isReachable: this.isReachable(entry),
      values: this.#valuesOf(thing),
    };
  }

  isReachable({ thing, suspended }: Pick<BridgeEntry, 'thing' | 'suspended'>): boolean {
    if (suspended) return false;
    return thing.hub === undefined ? this.#hasReadings(thing) : this.#isReachedBy(thing) && this.#hasValues(thing, thing.hub);
  }

  /** Keeps a value that another hub reported. */
  keep(hub: string, sensor: string, value: Json): void {
    this.#remote.set(keyOf(hub, sensor), value);
  }

  /** Deletes the values of a thing of another hub. */
  forget({ hub = '', sensors }: BridgedThing): void {
    for (const sensor of Object.values(sensors)) this.#remote.delete(keyOf(hub, sensor));
  }

  #isReachedBy({ hub, device }: BridgedThing): boolean {
    const peer = this.#parts.mesh.view.peers().find(({ id }) => id === hub);
    return peer?.isReachable === true && peer.devices.some(({ id, isReachable }) => id === device && isReachable);
  }

  #hasReadings({ sensors }: BridgedThing): boolean {
    const readings = Object.values(sensors).map((sensor) => this.#parts.readings.current(sensor as SensorId));
    return readings.every((reading) => reading !== undefined && reading.reachability !== 'unreachable');
  }

  /**
   * Returns whether the other hub has reported each value since this hub started. A value that nobody reported would be shown as off, closed
   * or dry, and automations of the ecosystem would act on it.
   */
  #hasValues(thing: BridgedThing, hub: string): boolean {
    return Object.entries(thing.sensors).every(([name, sensor]) => {
      const reading = this.#remote.get(keyOf(hub, sensor));
      return reading !== undefined && (CAN_BE_UNKNOWN.has(name) || valuesFrom(thing, sensor, reading)[name] !== null);
    });
  }

  #valuesOf(thing: BridgedThing): BridgedValues {
    const known = Object.values(thing.sensors).map((sensor) => valuesFrom(thing, sensor, this.#readingOf(thing, sensor)));
    return Object.assign(thing.actor === 'scene' ? { on: false } : {}, ...known);
  }

  #readingOf({ hub }: BridgedThing, sensor: string): Json {
    if (hub !== undefined) return this.#remote.get(keyOf(hub, sensor)) ?? null;
    return this.#parts.readings.current(sensor as SensorId)?.value ?? null;
  }
}

function keyOf(hub: string, sensor: string): string {
  return `${hub}/${sensor}`;
}
