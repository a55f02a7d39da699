import { hash } from 'node:crypto';
import { foldedName } from '../../core/devices/device-names.ts';
import { AtmoError } from '../../core/errors.ts';
import { type DeviceId, slug } from '../../core/ids.ts';
import { isJsonObject, type Json, type JsonObject, objectsOf } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { ToolContext } from '../../tools/definition/tool-definition.ts';

const SPACE = 'scenes';
const MAX_SCENES = 100;
/** Characters of a scene's id, which is also the name of its tool. */
const MAX_ID = 40;

/** What one device does in a scene. `key` identifies the device's tool even if its action gets another name. */
export interface SceneAction {
  readonly device: DeviceId;
  readonly key: string;
  readonly action: string;
  readonly params: JsonObject;
}

/** A scene: what several devices do together. Its id never changes. Devices are named by id, so that renaming them changes nothing. */
export interface Scene {
  readonly id: string;
  readonly name: string;
  readonly actions: readonly SceneAction[];
  readonly changedAtMs: number;
}

/** What became of the recall of a scene that a device keeps: it shows the state, it was asked and does not show it, or it was not asked. */
export type Recalled = 'shown' | 'not_shown' | 'not_asked';

/** What a recall takes of the call for which it is made. */
export type RecallContext = Pick<ToolContext, 'allows' | 'signal' | 'clock'>;

/** Keeps the scenes in the hub's state. A change is on the disk when the method returns. */
export class SceneStore {
  readonly #store: KeyValueStore;
  readonly #scenes = new Map<string, Scene>();
  readonly #listeners = new Set<(id: string) => void>();

  constructor(store: KeyValueStore) {
    this.#store = store;
    for (const { key, value } of store.entries(SPACE)) {
      const scene = parseScene(key, value);
      if (scene) this.#scenes.set(key, scene);
    }
  }

  /** Returns the scenes, sorted by name. */
  list(): readonly Scene[] {
    return [...this.#scenes.values()].sort((a, b) => a.name.localeCompare(b.name));
  }

  get(id: string): Scene | undefined {
    return this.#scenes.get(id);
  }

  /** Returns the scene with this id or name. */
  find(text: string): Scene | undefined {
    return this.get(text) ?? this.#named(text);
  }

  /** Returns an id for a new scene. Throws CONFLICT if a scene has the name already, and RESOURCE_EXCEEDED if there are too many. */
  newId(name: string): string {
    this.requireFreeName(name);
    if (this.#scenes.size >= MAX_SCENES)
      throw new AtmoError('RESOURCE_EXCEEDED', `The hub has ${MAX_SCENES} scenes, which is the most that it keeps; delete one first`);
    const plain = slug(name, '_').slice(0, MAX_ID).replace(/_+$/, '');
    const wanted = /^[a-z]/.test(plain) ? plain : plain === '' ? 'scene' : `scene_${plain}`.slice(0, MAX_ID);
    for (let number = 1; ; number++) {
      const id = number === 1 ? wanted : `${wanted}_${number}`;
      if (!this.#scenes.has(id)) return id;
    }
  }

  /** Throws CONFLICT if another scene than `id` has the name. */
  requireFreeName(name: string, id?: string): void {
    const holder = this.#named(name);
    if (!holder || holder.id === id) return;
    throw new AtmoError('CONFLICT', `There is a scene ${JSON.stringify(holder.name)} already; change that one, or choose another name`, {
      scene: holder.id,
    });
  }

  save(scene: Scene): void {
    this.#store.set(SPACE, scene.id, sceneJson(scene));
    this.#scenes.set(scene.id, scene);
    this.#changed(scene.id);
  }

  /** Replaces the keys of some of a scene's actions, which are given by their index. Does nothing for a scene that is gone. */
  setKeys(id: string, keys: ReadonlyMap<number, string>): void {
    const scene = this.#scenes.get(id);
    if (scene) this.save({ ...scene, actions: scene.actions.map((action, index) => ({ ...action, key: keys.get(index) ?? action.key })) });
  }

  delete(id: string): void {
    this.#store.delete(SPACE, id);
    this.#scenes.delete(id);
    this.#changed(id);
  }

  /** Calls `listener` with the id of each scene that was saved or deleted; the returned function unsubscribes. */
  onChange(listener: (id: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #named(text: string): Scene | undefined {
    return [...this.#scenes.values()].find(({ name }) => foldedName(name) === foldedName(text));
  }

  #changed(id: string): void {
    for (const listener of this.#listeners) listener(id);
  }
}

/** Returns a digest of what a scene does. An approval for one content does not count for another. */
export function sceneContent({ actions }: Pick<Scene, 'actions'>): string {
  return hash('sha256', JSON.stringify(actions), 'hex').slice(0, 16);
}

/** Returns the ids of the devices of a scene, sorted. */
export function devicesOfScene({ actions }: Pick<Scene, 'actions'>): readonly DeviceId[] {
  return [...new Set(actions.map(({ device }) => device))].sort();
}

function sceneJson({ name, actions, changedAtMs }: Scene): JsonObject {
  return { name, changedAtMs, actions: actions.map(({ device, key, action, params }) => ({ device, key, action, params })) };
}

/** Parses a stored scene; undefined for a value that is none. */
function parseScene(id: string, value: Json): Scene | undefined {
  if (!isJsonObject(value) || typeof value.name !== 'string') return undefined;
  const actions = objectsOf(value.actions).flatMap(({ device, key, action, params }) =>
    typeof device === 'string' && typeof key === 'string' && typeof action === 'string' && isJsonObject(params)
      ? [{ device: device as DeviceId, key, action, params }]
      : [],
  );
  return { id, name: value.name, actions, changedAtMs: Number(value.changedAtMs) || 0 };
}
