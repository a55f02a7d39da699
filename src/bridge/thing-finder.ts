import type { ToolCaller } from '../calls/request-and-answer.ts';
import type { Principal } from '../core/auth/principal.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import type { Device } from '../core/devices/device-model.ts';
import { foldedName } from '../core/devices/device-names.ts';
import { GPIO_DEVICE, gpioIds } from '../core/devices/gpio-ids.ts';
import { BRIDGED_COPY, BRIDGED_SERIAL_PREFIX } from '../core/devices/matter-bridge.ts';
import type { Reading, ReadingStore, SensorInfo } from '../core/devices/sensor-readings.ts';
import { AtmoError } from '../core/errors.ts';
import type { DeviceId, SensorId } from '../core/ids.ts';
import { isJsonObject, type Json, objectOf, objectsOf } from '../core/json.ts';
import type { MeshView, Peer, PeerDevice } from '../core/mesh-view.ts';
import { givenName } from '../core/untrusted-text.ts';
import type { ToolRegistry } from '../tools/registry/tool-registry.ts';
import { type BridgedThing, deviceThings, type KnownSensor, outputThing, sceneThing, sensorThing } from './bridged-things.ts';

/** A scene, with the devices that it controls. */
interface KnownScene {
  readonly id: string;
  readonly name: string;
  readonly devices: readonly DeviceId[];
}

/** Port: the scenes of this hub. */
interface SceneSource {
  list(): readonly KnownScene[];
  get(id: string): KnownScene | undefined;
}

/** What the finder uses of the hub. */
interface FinderParts {
  readonly readings: Pick<ReadingStore, 'sensors' | 'current'>;
  readonly devices: Pick<DeviceDirectory, 'list' | 'get'>;
  readonly registry: Pick<ToolRegistry, 'get'>;
  readonly scenes: SceneSource;
  /** Returns whether a device is a lock, a valve or something else of which commands can be dangerous. */
  readonly isGuarded: (device: DeviceId) => boolean;
  readonly mesh: MeshView;
  readonly pipeline: Pick<ToolCaller, 'call'>;
}

/** A thing that an owner can choose, before it is known which Matter devices it becomes. */
interface Candidate {
  /** Text that names the thing for `bridge_device`. */
  readonly thing: string;
  readonly name: string;
  /** `board`, `output`, `scene`, the kind of a sensor of the board, or the announced type of a device of another hub. */
  readonly type: string;
  /** Name of the other hub; absent for this hub. */
  readonly hub?: string;
}

/** What `find` looks for. `hub` is the id or name of another hub. */
export interface ThingQuery {
  readonly text: string;
  readonly hub?: string | undefined;
  /** The caller, who must be able to read the sensors of a device of another hub. */
  readonly principal: Principal;
}

/** Finds the things of this hub and of other hubs that a bridge can present. */
export class ThingFinder {
  readonly #parts: FinderParts;

  constructor(parts: FinderParts) {
    this.#parts = parts;
  }

  /** Returns the board's devices, its outputs and single sensors, the scenes and the devices of other hubs, in this order. */
  candidates(): readonly Candidate[] {
    const { devices, scenes } = this.#parts;
    const ofBoard = this.#ofBoard(() => true);
    const board = devices.list().filter(({ id, kind }) => kind === 'board' && ofBoard.some(({ device }) => device === id));
    const [outputs, sensors] = [ofBoard.filter(({ actor }) => actor === 'output'), ofBoard.filter(({ actor }) => actor === 'nothing')];
    return [
      ...board.map(({ id, name }) => ({ thing: id, name, type: 'board' })),
      ...outputs.map(({ target, name }) => ({ thing: target, name, type: 'output' })),
      ...sensors.map(({ target, name, kind }) => ({ thing: target, name, type: kind })),
      ...scenes.list().flatMap((scene) => (this.#copyIn(scene) ? [] : { thing: scene.id, name: scene.name, type: 'scene' })),
      ...this.#peers().flatMap((peer) =>
        peer.devices.flatMap(({ id, name, type }) => (type === BRIDGED_COPY ? [] : { thing: id, name, type, hub: peer.name })),
      ),
    ];
  }

  /**
   * Returns the things with this key, id or name: a sensor, all sensors of a device, an output, a scene, or a device of another hub. Rejects with
   * NOT_FOUND if there is none, AMBIGUOUS_DEVICE if it is the name of several, and NOT_SUPPORTED if no bridge can present it.
   */
  async find(query: ThingQuery): Promise<readonly BridgedThing[]> {
    const found = query.hub === undefined ? (this.#withKey(query.text) ?? this.#local(query.text)) : [];
    if (found.length > 0) return found;
    return this.#remote(query);
  }

  /** Returns a thing of this hub as it is now; undefined if the hub does not have it. */
  current({ key, actor, target, sensors }: BridgedThing): BridgedThing | undefined {
    const scene = actor === 'scene' ? this.#parts.scenes.get(target) : undefined;
    if (actor === 'scene') return scene && this.#sceneThing(scene);
    const own = Object.values(sensors).flatMap((id) => this.#parts.readings.current(id as SensorId) ?? []);
    return this.#thingsOf(own).find((thing) => thing.key === key);
  }

  #withKey(text: string): readonly BridgedThing[] | undefined {
    const scene = this.#parts.scenes.list().find((one) => sceneThing(one).key === text);
    const found = scene ? this.#requireNoCopy(scene) : this.#ofBoard(() => true).find(({ key }) => key === text);
    return found && [found];
  }

  #local(text: string): readonly BridgedThing[] {
    const { devices, scenes } = this.#parts;
    const isNamed = ({ id, name }: { readonly id: string; readonly name: string }) => id === text || foldedName(name) === foldedName(text);
    const matter = devices.list().find((device) => device.kind !== 'board' && isNamed(device));
    if (matter)
      throw new AtmoError(
        'NOT_SUPPORTED',
        `${matter.name} is a Matter device of this hub, which other ecosystems can have directly: ${SHARE}`,
      );
    const board = devices.list().filter((device) => device.kind === 'board' && isNamed(device));
    const isWanted = ({ id, title, device }: SensorInfo) =>
      id === text || foldedName(title) === foldedName(text) || id === gpioIds(text).sensor || board.some((one) => one.id === device);
    const sensors = this.#ofBoard(({ sensor }) => isWanted(sensor));
    const scene = scenes
      .list()
      .filter(isNamed)
      .map((one) => this.#requireNoCopy(one));
    if (sensors.length > 0 && scene.length > 0)
      throw ambiguous(
        text,
        [...sensors, ...scene].map(({ key }) => key),
      );
    return [...sensors, ...scene];
  }

  #ofBoard(isWanted: (reading: Reading) => boolean): readonly BridgedThing[] {
    return this.#thingsOf(this.#parts.readings.sensors().filter(isWanted));
  }

  /** Returns the things for those sensors that are of the board. */
  #thingsOf(found: readonly Reading[]): readonly BridgedThing[] {
    const { devices, registry } = this.#parts;
    const ofBoard = found.filter(({ sensor }) => devices.get(sensor.device)?.kind === 'board');
    return ofBoard.flatMap(({ sensor }) => {
      const output = sensor.device === GPIO_DEVICE ? sensor.name : undefined;
      if (output !== undefined && registry.get(`${gpioIds(output).tool('turn_on')}@1.0.0`))
        return [{ ...outputThing(sensor, output), isDangerous: this.#isDangerous(output) }];
      return sensorThing(sensor, sensor.device) ?? [];
    });
  }

  #sceneThing(scene: KnownScene): BridgedThing {
    const { devices, isGuarded } = this.#parts;
    // A device that was removed does nothing in a scene any more.
    const isDangerous = scene.devices.some((id) => devices.get(id) !== undefined && isGuarded(id));
    return { ...sceneThing(scene), isDangerous };
  }

  /** Throws NOT_SUPPORTED for a scene with a device that came through the bridge of a hub: hubs could run such scenes in a circle. */
  #requireNoCopy(scene: KnownScene): BridgedThing {
    const copy = this.#copyIn(scene);
    if (!copy) return this.#sceneThing(scene);
    throw new AtmoError(
      'NOT_SUPPORTED',
      `${scene.name} controls ${copy.name}, which came through the bridge of a hub; take that out of the scene`,
    );
  }

  #copyIn({ devices }: KnownScene): Device | undefined {
    const known = devices.flatMap((id) => this.#parts.devices.get(id) ?? []);
    return known.find(({ serial = '' }) => serial.startsWith(BRIDGED_SERIAL_PREFIX));
  }

  #isDangerous(output: string): boolean {
    const tools = ['turn_on', 'turn_off'].map((action) => this.#parts.registry.get(`${gpioIds(output).tool(action)}@1.0.0`));
    return tools.some((tool) => tool?.definition.metadata.isDangerous);
  }

  async #remote({ text, hub, principal }: ThingQuery): Promise<readonly BridgedThing[]> {
    const peers = this.#peers().filter(({ id, name }) => hub === undefined || id === hub || name === hub);
    if (hub !== undefined && peers.length === 0) throw new AtmoError('NOT_FOUND', `There is no hub ${JSON.stringify(hub)} in the mesh`);
    const found = peers.flatMap((peer) => peer.devices.filter((device) => isNamed(device, text)).map((device) => ({ peer, device })));
    const [match] = found;
    if (!match)
      throw new AtmoError('NOT_FOUND', `There is no sensor, output, scene or device ${JSON.stringify(text.slice(0, 80))}; ${LIST}`);
    if (found.length > 1)
      throw ambiguous(
        text,
        found.map(({ peer, device }) => `${device.id} of ${peer.name}`),
      );
    const { peer, device } = match;
    if (device.type === BRIDGED_COPY)
      throw new AtmoError('NOT_SUPPORTED', `${device.name} came to ${peer.name} through the bridge of a hub; bridge it there`);
    const sensors = await this.#sensorsOf(peer.id, device.id, principal);
    const things = deviceThings({ hub: peer.id, id: device.id, name: device.name, type: device.type, sensors });
    if (things.length > 0) return things;
    throw new AtmoError(
      'NOT_SUPPORTED',
      `${device.name} has nothing that a bridge can show: no light, plug, cover, thermostat, lock or known sensor`,
    );
  }

  async #sensorsOf(hub: string, device: string, principal: Principal): Promise<readonly KnownSensor[]> {
    const answer = await this.#parts.pipeline.call({
      principal,
      tool: 'core:list_sensors',
      params: { device, limit: MAX_SENSORS },
      routing: { only_nodes: [hub] },
    });
    if (answer.status === 'error') throw new AtmoError(answer.error.code, answer.error.message);
    return remoteSensors(answer.result, device).map(({ id, kind, unit, title }) => ({ id, kind, unit, title }));
  }

  #peers(): readonly Peer[] {
    return this.#parts.mesh.peers().filter(({ state }) => state === 'fresh' || state === 'stale');
  }
}

/** Largest number of sensors of a device of another hub, which is that of a page of `list_sensors`. */
const MAX_SENSORS = 100;
/** Characters of a sensor's id and title. */
const MAX_ID = 200;
const MAX_TITLE = 64;
const SHARE = 'atmo device share DEVICE opens it for them';
const LIST = 'atmo bridge list --all shows what can be bridged';

function isNamed({ id, name }: PeerDevice, text: string): boolean {
  return id === text || foldedName(name) === foldedName(text);
}

function ambiguous(text: string, candidates: readonly string[]): AtmoError {
  const message = `${JSON.stringify(text)} can mean ${candidates.join(' or ')}; use an id, and hub for another hub`;
  return new AtmoError('AMBIGUOUS_DEVICE', message, { candidates });
}

/** A sensor in an answer of `list_sensors`, with its value. */
interface RemoteSensor extends KnownSensor {
  readonly value: Json;
}

/**
 * Reads an answer of `list_sensors` of another hub about one of its devices. Leaves out malformed entries, sensors of other devices, and all
 * beyond the first hundred, which is what was requested.
 */
export function remoteSensors(result: Json, device: string): readonly RemoteSensor[] {
  const entries = objectsOf(objectOf(result).sensors).slice(0, MAX_SENSORS);
  return entries.flatMap((entry) => {
    if (!isJsonObject(entry)) return [];
    const { sensor_id: id, kind, unit, title, value = null } = entry;
    if (typeof id !== 'string' || typeof kind !== 'string' || typeof unit !== 'string' || typeof title !== 'string') return [];
    return id.length <= MAX_ID && id.startsWith(`${device}/`) ? [{ id, kind, unit, title: givenName(title, MAX_TITLE), value }] : [];
  });
}
