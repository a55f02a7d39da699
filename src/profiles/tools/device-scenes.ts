import { pause } from '../../core/clock.ts';
import { ConcurrencyLimiter } from '../../core/concurrency-limiter.ts';
import type { DeviceAccess } from '../../core/devices/device-directory.ts';
import { AtmoError, type ErrorCode } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { CompiledDevice } from '../compile/compiled-device.ts';
import { type Scene, type SceneAction, sceneContent } from '../home/scene-store.ts';
import type { MemberToolPorts, RecallOptions } from './member-calls.ts';
import { captureDevice } from './scene-capture.ts';

const SPACE = 'scenes.devices';
const CLUSTER = 'ScenesManagement';
/** Scenes of the hub belong to no group of the devices (Matter Application Clusters §1.4.7). */
const NO_GROUP = 0;
/** The greatest number that a scene can have in a device. */
const LAST_NUMBER = 0xfe;
/** The capabilities of lights. What moves or heats is slower than a read-back can wait for, and gets its own commands. */
const LIGHT: ReadonlySet<string> = new Set(['on-off', 'brightness', 'color']);
/** Codes of errors which show that a device does not keep the scene. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['CLUSTER_STATUS', 'NOT_SUPPORTED']);
const PARALLEL = 16;
/** Time between the reads of a light after a recall. */
const POLL_MS = 250;
/** Time for which a light may take to show the scene; then it gets its commands. */
const SETTLE_MS = 750;

/** The number of a scene in devices, the content that they keep, and the endpoint of each device that keeps it. */
interface KeptScene {
  readonly number: number;
  readonly content: string;
  readonly endpoints: Readonly<Record<string, number>>;
}

type SceneCommand = 'StoreScene' | 'RecallScene' | 'RemoveScene';

/** A scene in a device. */
interface ScenePlace {
  readonly id: DeviceId;
  readonly endpoint: number;
  readonly number: number;
}

interface DeviceScenesParts {
  readonly store: KeyValueStore;
  readonly access: DeviceAccess;
}

/**
 * Lets lights keep scenes themselves (cluster Scenes Management), so that one command brings back on or off, brightness and colour at the
 * same moment. That is only a shorter way: where a light does not keep the scene or does not show it after a recall, it gets its commands.
 */
export class DeviceScenes {
  readonly #parts: DeviceScenesParts;

  constructor(parts: DeviceScenesParts) {
    this.#parts = parts;
  }

  /** Has the lights of a scene keep their present state, which is what the scene holds. A light that refuses or fails is left out. */
  async keep(scene: Scene, devices: Pick<MemberToolPorts['devices'], 'get'>, signal: AbortSignal): Promise<void> {
    await this.forget(scene.id, signal);
    const number = this.#freeNumber();
    if (number === undefined) return;
    const record = { number, content: sceneContent(scene) };
    // Written first, so that no other scene takes the number meanwhile.
    this.#parts.store.set(SPACE, scene.id, { ...record, endpoints: {} });
    const limiter = new ConcurrencyLimiter({ maxRunning: PARALLEL });
    const keepers = [...Map.groupBy(scene.actions, ({ device }) => device)].flatMap(([id, actions]) => {
      const endpoint = sceneEndpoint(devices.get(id), actions);
      return endpoint === undefined ? [] : [{ id, endpoint }];
    });
    const kept = await Promise.all(
      keepers.map(async ({ id, endpoint }) => {
        const leave = await limiter.enter(signal);
        const answer = await this.#tried('StoreScene', { id, endpoint, number }, signal).finally(leave);
        return isSuccess(answer) ? [[id, endpoint] as const] : [];
      }),
    );
    this.#parts.store.set(SPACE, scene.id, { ...record, endpoints: Object.fromEntries(kept.flat()) });
  }

  /**
   * Recalls a scene on one device. Returns false unless the device then shows what the scene holds. A device that refuses, or answers and
   * does not show the scene, is not asked again until the scene is saved anew.
   */
  async recall(scene: Scene, compiled: CompiledDevice, options: RecallOptions): Promise<boolean> {
    const { id } = compiled.device;
    const kept = this.#kept(scene.id);
    const endpoint = kept?.endpoints[id];
    if (!kept || endpoint === undefined || kept.content !== sceneContent(scene)) return false;
    try {
      await this.#invoke('RecallScene', { id, endpoint, number: kept.number }, options.signal);
      if (await this.#showsInTime(scene, compiled, options)) return true;
    } catch (error) {
      // A device that did not answer may still keep the scene. The commands that follow tell what is wrong with it.
      if (error instanceof AtmoError && !REFUSALS.has(error.code)) return false;
      if (!(error instanceof AtmoError)) throw error;
    }
    if (!options.signal.aborted) this.#leaveOut(scene.id, id);
    return false;
  }

  /** Has the lights forget a scene. A light that does not answer keeps it, and nobody recalls it any more. */
  async forget(sceneId: string, signal: AbortSignal): Promise<void> {
    const kept = this.#kept(sceneId);
    if (!kept) return;
    this.#parts.store.delete(SPACE, sceneId);
    const { number, endpoints } = kept;
    await Promise.all(
      Object.entries(endpoints).map(([id, endpoint]) => this.#tried('RemoveScene', { id: id as DeviceId, endpoint, number }, signal)),
    );
  }

  async #showsInTime({ actions }: Scene, compiled: CompiledDevice, { signal, clock }: RecallOptions): Promise<boolean> {
    const wanted = JSON.stringify(actions.filter(({ device }) => device === compiled.device.id));
    const endMs = clock.monotonic() + SETTLE_MS;
    for (;;) {
      if (JSON.stringify(await captureDevice(compiled, { access: this.#parts.access, signal })) === wanted) return true;
      if (signal.aborted || clock.monotonic() >= endMs) return false;
      await pause(clock, POLL_MS, signal);
    }
  }

  #leaveOut(sceneId: string, device: DeviceId): void {
    const kept = this.#kept(sceneId);
    if (!kept) return;
    const { [device]: _, ...endpoints } = kept.endpoints;
    this.#parts.store.set(SPACE, sceneId, { number: kept.number, content: kept.content, endpoints });
  }

  #kept(sceneId: string): KeptScene | undefined {
    const value = this.#parts.store.get(SPACE, sceneId);
    return isJsonObject(value) && isJsonObject(value.endpoints) ? (value as unknown as KeptScene) : undefined;
  }

  #freeNumber(): number | undefined {
    const taken = new Set(this.#parts.store.entries(SPACE).map(({ value }) => isJsonObject(value) && value.number));
    // From the greatest down, since people and their tools begin with 1.
    for (let number = LAST_NUMBER; number > 0; number--) if (!taken.has(number)) return number;
    return undefined;
  }

  /** Sends a command. Resolves with undefined if the device refused it or did not answer. */
  async #tried(command: SceneCommand, at: ScenePlace, signal: AbortSignal): Promise<JsonObject | null | undefined> {
    try {
      return await this.#invoke(command, at, signal);
    } catch (error) {
      if (error instanceof AtmoError) return undefined;
      throw error;
    }
  }

  #invoke(command: SceneCommand, { id: device, endpoint, number: sceneId }: ScenePlace, signal: AbortSignal): Promise<JsonObject | null> {
    return this.#parts.access.invoke({ device, endpoint, cluster: CLUSTER, command }, { groupId: NO_GROUP, sceneId }, { signal });
  }
}

/** Returns the endpoint that can keep what a scene does with a device; undefined unless that is the light of one endpoint alone. */
function sceneEndpoint(compiled: CompiledDevice | undefined, actions: readonly SceneAction[]): number | undefined {
  const tools = actions.map(({ key }) => compiled?.tools.find((tool) => tool.key === key));
  const [first] = tools;
  if (!first || !tools.every((tool) => tool?.endpoint === first.endpoint && LIGHT.has(tool.capability ?? ''))) return undefined;
  const isKeeper = compiled?.coverage.some(({ endpoint, cluster }) => endpoint === first.endpoint && cluster === CLUSTER);
  return isKeeper ? first.endpoint : undefined;
}

function isSuccess(answer: JsonObject | null | undefined): boolean {
  return answer?.status === 0 || answer?.status === 'Success';
}
