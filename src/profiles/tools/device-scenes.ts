import type { Effect } from '../../core/auth/principal.ts';
import { pause } from '../../core/clock.ts';
import { ConcurrencyLimiter } from '../../core/concurrency-limiter.ts';
import type { DeviceAccess } from '../../core/devices/device-directory.ts';
import { AtmoError, type ErrorCode } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { CompiledDevice, CompiledDevices, DeviceTool } from '../compile/compiled-device.ts';
import { valueNames } from '../compile/step-outcome.ts';
import { type RecallContext, type Recalled, type Scene, type SceneAction, sceneContent } from '../home/scene-store.ts';
import { isAction } from './class-tool.ts';
import { captureDevice } from './scene-capture.ts';

const SPACE = 'scenes.devices';
const CLUSTER = 'ScenesManagement';
/** Scenes of the hub belong to no group of the devices (Matter Application Clusters §1.4.7). */
const NO_GROUP = 0;
/** The greatest number that a scene can have in a device. */
const LAST_NUMBER = 0xfe;
/** The capabilities of lights. What moves or heats is slower than a read-back can wait for, and gets its own commands. */
const LIGHT: ReadonlySet<string> = new Set(['on-off', 'brightness', 'color']);
/** The clusters of lights besides On/Off whose state a device keeps in a scene, and the capabilities that hold it. */
const HELD_BY: Readonly<Record<string, string>> = { LevelControl: 'brightness', ColorControl: 'color' };
/** Codes of errors which show that a device does not keep the scene. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['CLUSTER_STATUS', 'NOT_SUPPORTED']);
const PARALLEL = 16;
/** Time between the first two reads of a light after a recall, then twice as long each time. */
const FIRST_POLL_MS = 50;
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

/** A device, and what a scene does with it. */
interface SceneMember {
  readonly compiled: CompiledDevice;
  readonly actions: readonly SceneAction[];
}

interface DeviceScenesParts {
  readonly store: KeyValueStore;
  readonly access: DeviceAccess;
}

/** The devices of the home, as profiles know them. */
type SceneDevices = Pick<CompiledDevices, 'get'>;

/**
 * Lets lights keep scenes themselves (cluster Scenes Management), so that one command brings back on or off, brightness and colour at the
 * same moment. That is only a shorter way: where a light does not keep the scene or does not show it after a recall, it gets its commands.
 *
 * Whoever reaches the light can rewrite what it keeps, so a recall may bring the light into any state. A scene is therefore recalled only if no
 * state of the light's endpoint needs an approval, and the owner's rules allow the call to bring it into each of them.
 */
export class DeviceScenes {
  readonly #parts: DeviceScenesParts;

  constructor(parts: DeviceScenesParts) {
    this.#parts = parts;
  }

  /** Has the lights of a scene keep their present state, which is what the scene holds. A light that refuses or fails is left out. */
  async keep(scene: Scene, devices: SceneDevices, signal: AbortSignal): Promise<void> {
    await this.forget(scene.id, signal);
    const number = this.#freeNumber();
    if (number === undefined) return;
    const record = { number, content: sceneContent(scene) };
    // Written first, so that no other scene takes the number meanwhile.
    this.#parts.store.set(SPACE, scene.id, { ...record, endpoints: {} });
    const limiter = new ConcurrencyLimiter({ maxRunning: PARALLEL });
    const kept = await Promise.all(
      keepersOf(scene, devices).map(async ({ endpoint, ...member }) => {
        const at = { id: member.compiled.device.id, endpoint, number };
        const leave = await limiter.enter(signal);
        const isKept = await this.#store(member, at, signal).finally(leave);
        return isKept ? [[at.id, at.endpoint] as const] : [];
      }),
    );
    this.#parts.store.set(SPACE, scene.id, { ...record, endpoints: Object.fromEntries(kept.flat()) });
  }

  /**
   * Recalls a scene on one device, if the rules allow the call whatever the device may keep by now. A device that refuses, or answers and
   * does not show the scene, is not asked again until the scene is saved anew.
   */
  async recall(scene: Scene, compiled: CompiledDevice, options: RecallContext): Promise<Recalled> {
    const { id } = compiled.device;
    const kept = this.#kept(scene.id);
    const endpoint = kept?.endpoints[id];
    if (!kept || endpoint === undefined || kept.content !== sceneContent(scene)) return 'not_asked';
    const member = { compiled, actions: scene.actions.filter(({ device }) => device === id) };
    if (sceneEndpoint(member) !== endpoint || !options.allows(recallEffects(compiled, endpoint))) return 'not_asked';
    try {
      await this.#invoke('RecallScene', { id, endpoint, number: kept.number }, options.signal);
      if (await this.#showsInTime(member, options)) return 'shown';
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      // A device that did not answer may still keep the scene. The commands that follow tell what is wrong with it.
      if (!REFUSALS.has(error.code)) return 'not_shown';
    }
    if (!options.signal.aborted) this.#leaveOut(scene.id, id);
    return 'not_shown';
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

  /** Stores the scene in one device. Returns false if the device refused it, or may have stored another state than the scene holds. */
  async #store(member: SceneMember, at: ScenePlace, signal: AbortSignal): Promise<boolean> {
    if (!isSuccess(await this.#tried('StoreScene', at, signal))) return false;
    // The device stores what it shows at that moment, and somebody may have switched it after the hub had read it.
    if (await orUndefined(this.#shows(member, signal))) return true;
    await this.#tried('RemoveScene', at, signal);
    return false;
  }

  async #showsInTime(member: SceneMember, { signal, clock }: RecallContext): Promise<boolean> {
    const endMs = clock.monotonic() + SETTLE_MS;
    for (let pollMs = FIRST_POLL_MS; ; pollMs *= 2) {
      if (await this.#shows(member, signal)) return true;
      if (signal.aborted || clock.monotonic() >= endMs) return false;
      await pause(clock, pollMs, signal);
    }
  }

  /** Reads a device and returns whether it shows what the scene holds. Rejects with the errors of DeviceAccess. */
  async #shows({ compiled, actions }: SceneMember, signal: AbortSignal): Promise<boolean> {
    const shown = await captureDevice(compiled, { access: this.#parts.access, signal });
    return JSON.stringify(shown) === JSON.stringify(actions);
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
  #tried(command: SceneCommand, at: ScenePlace, signal: AbortSignal): Promise<JsonObject | null | undefined> {
    return orUndefined(this.#invoke(command, at, signal));
  }

  #invoke(command: SceneCommand, { id: device, endpoint, number: sceneId }: ScenePlace, signal: AbortSignal): Promise<JsonObject | null> {
    return this.#parts.access.invoke({ device, endpoint, cluster: CLUSTER, command }, { groupId: NO_GROUP, sceneId }, { signal });
  }
}

/** Returns the devices that can keep what a scene does with them. */
function keepersOf({ actions }: Scene, devices: SceneDevices): readonly (SceneMember & { readonly endpoint: number })[] {
  return [...Map.groupBy(actions, ({ device }) => device)].flatMap(([id, own]) => {
    const compiled = devices.get(id);
    if (!compiled) return [];
    const endpoint = sceneEndpoint({ compiled, actions: own });
    return endpoint === undefined ? [] : [{ compiled, actions: own, endpoint }];
  });
}

/**
 * Returns the endpoint that can keep what a scene does with a device. Undefined unless that is the light of one endpoint alone, of which
 * nothing needs more care than a light, and the scene holds all that the endpoint would keep.
 */
function sceneEndpoint({ compiled, actions }: SceneMember): number | undefined {
  const tools = actions.flatMap(({ key }) => compiled.tools.find((tool) => tool.key === key) ?? []);
  const endpoint = tools[0]?.endpoint;
  if (endpoint === undefined || tools.length < actions.length || tools.some((tool) => tool.endpoint !== endpoint)) return undefined;
  const clusters = new Set(compiled.coverage.filter((one) => one.endpoint === endpoint).map(({ cluster }) => cluster));
  const isKeeper = clusters.has(CLUSTER) && actingTools(compiled, endpoint).every(isHarmless);
  return isKeeper && holdsAll(tools, clusters) ? endpoint : undefined;
}

/** Returns the tools that act on an endpoint, except those for the scenes themselves. */
function actingTools({ tools }: CompiledDevice, endpoint: number): readonly DeviceTool[] {
  return tools.filter((tool) => tool.endpoint === endpoint && tool.kind === 'act' && tool.cluster !== CLUSTER);
}

function isHarmless({ capability = '', risk }: DeviceTool): boolean {
  return LIGHT.has(capability) && risk === 'low';
}

/** Returns whether these tools set all that lights keep in a scene. Of a light that is off, nothing else shows. */
function holdsAll(tools: readonly DeviceTool[], clusters: ReadonlySet<string>): boolean {
  if (tools.every((tool) => isAction(tool, 'turn_off'))) return true;
  return Object.entries(HELD_BY).every(([cluster, held]) => !clusters.has(cluster) || tools.some(({ capability }) => capability === held));
}

/** Returns what a recall may do: whatever the endpoint can be told to do, with any value. */
function recallEffects(compiled: CompiledDevice, endpoint: number): readonly Effect[] {
  const { id } = compiled.device;
  const told = actingTools(compiled, endpoint).flatMap(({ cluster, elements }) => elements.map((element) => `${cluster}/${element}`));
  const unforeseen = valueNames(compiled.values, { endpoint });
  return [`${CLUSTER}/RecallScene`, ...new Set(told)].map((path) => ({
    permission: `device:control:${id}`,
    risk: 'low',
    target: `${id}/${endpoint}/${path}`,
    device: id,
    unforeseen,
  }));
}

/** Settles like `promise`, but resolves with undefined in place of an error of DeviceAccess. */
async function orUndefined<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof AtmoError) return undefined;
    throw error;
  }
}

function isSuccess(answer: JsonObject | null | undefined): boolean {
  return answer?.status === 0 || answer?.status === 'Success';
}
