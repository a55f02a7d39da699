import type { DeviceAdministration, DeviceEndpoint, ReplacedDevice } from '../../core/devices/device-administration.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { parseDeviceId } from '../../core/devices/device-names.ts';
import { type ErrorCode, toAtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import { type Json, objectOf, objectsOf } from '../../core/json.ts';
import type { Logger } from '../../core/logger.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { DeviceNameOwnership } from '../names/name-references.ts';
import { copyJson } from '../schema/plain-json.ts';

const SPACE = 'devices.replacement';
/** Errors of a device that is gone for good. It is forgotten then; every other error ends the replacement with nothing changed. */
const IS_GONE: ReadonlySet<ErrorCode> = new Set(['DEVICE_UNREACHABLE', 'OUTCOME_UNKNOWN']);

/** A device, and the one whose place it takes. */
export interface ReplacedPair {
  readonly old: ReplacedDevice;
  readonly by: DeviceId;
}

/** What replaces what: two whole devices, and the parts of them that match. */
export interface Replacement {
  readonly whole: ReplacedPair;
  readonly parts: readonly ReplacedPair[];
  /** Matter node of the old device; undefined if it left the home before. */
  readonly nodeId?: string;
}

interface GroupMembership extends DeviceEndpoint {
  readonly group: number;
}

/** A scene's action, by its index, and the key of the tool of the new device that it gets. */
interface SceneKey {
  readonly scene: string;
  readonly index: number;
  readonly key: string;
}

interface BegunReplacement extends Replacement {
  readonly groups: readonly GroupMembership[];
  /** Stored before the names are merged, since nobody knows afterwards which tool corresponds to which. */
  readonly sceneKeys?: readonly SceneKey[];
}

/** Port: the scenes, which refer to the tools of a device by their keys. */
interface KeyedScenes {
  list(): readonly { readonly id: string; readonly actions: readonly { readonly device: DeviceId; readonly key: string }[] }[];
  setKeys(id: string, keys: ReadonlyMap<number, string>): void;
}

/** What became of the old device: it left the fabric, it did not answer and was forgotten, or it was not here any more. */
export type OldDeviceOutcome = 'left' | 'forgotten' | 'gone_before';

interface ReplacementResult {
  readonly outcome: OldDeviceOutcome;
  /** Groups that the new device could not join. */
  readonly groupsLeft: readonly number[];
}

interface ReplacementParts {
  readonly store: KeyValueStore;
  readonly logger: Logger;
  readonly directory: Pick<DeviceDirectory, 'get'>;
  readonly administration: Pick<DeviceAdministration, 'decommission' | 'takeOver' | 'groups' | 'addGroupMember'>;
  readonly names: Pick<DeviceNameOwnership, 'merge' | 'namesOf' | 'successors'>;
  readonly scenes: KeyedScenes;
}

/**
 * Puts a device into the place of another one. All that refers to the old device does so by its id, so the new one gets that id, with the
 * names. What is to be done is stored first: a hub that was killed meanwhile either has the old device still, and nothing has changed, or
 * completes the replacement at its next start.
 */
export class DeviceReplacement {
  readonly #parts: ReplacementParts;

  constructor(parts: ReplacementParts) {
    this.#parts = parts;
  }

  /** Removes the old device if it is still here, and gives its place to the new one. If it refuses to leave, throws and changes nothing. */
  async run(replacement: Replacement, signal: AbortSignal): Promise<ReplacementResult> {
    const begun = { ...replacement, groups: this.#membershipsOf(replacement) };
    this.#keep(begun);
    const outcome = await this.#remove(begun, signal);
    this.#takePlaces(begun);
    return { outcome, groupsLeft: await this.#join(begun.groups, signal) };
  }

  /** Completes or drops what a crash interrupted. Call it after the devices are loaded and before their tools are made. */
  recover(signal: AbortSignal): void {
    for (const { value } of this.#parts.store.entries(SPACE)) {
      const begun = parseBegun(value);
      if (begun) this.#recover(begun, signal);
    }
  }

  #recover(begun: BegunReplacement, signal: AbortSignal): void {
    const { directory, store, logger } = this.#parts;
    const { old, by } = begun.whole;
    const holder = directory.get(old.id);
    if (holder && holder.nodeId === begun.nodeId) {
      store.delete(SPACE, old.id);
      return;
    }
    // Without the new device nothing can be done yet, for example while Matter is switched off.
    if (!holder && !directory.get(by)) return;
    logger.warn('device.replacement_completed', { device: old.id, by });
    this.#takePlaces(begun);
    void this.#join(begun.groups, signal);
  }

  async #remove({ whole, nodeId }: BegunReplacement, signal: AbortSignal): Promise<OldDeviceOutcome> {
    if (nodeId === undefined) return 'gone_before';
    try {
      return await this.#decommission(whole.old.id, signal);
    } catch (thrown) {
      // A replacement that failed must not be completed when somebody removes the old device for another reason.
      if (this.#parts.directory.get(whole.old.id)?.nodeId === nodeId) this.#parts.store.delete(SPACE, whole.old.id);
      throw toAtmoError(thrown);
    }
  }

  async #decommission(device: DeviceId, signal: AbortSignal): Promise<OldDeviceOutcome> {
    const { administration } = this.#parts;
    try {
      await administration.decommission(device, { signal, isForced: false });
      return 'left';
    } catch (thrown) {
      if (!IS_GONE.has(toAtmoError(thrown).code)) throw thrown;
    }
    await administration.decommission(device, { signal, isForced: true });
    return 'forgotten';
  }

  #keep(begun: BegunReplacement): void {
    this.#parts.store.set(SPACE, begun.whole.old.id, copyJson(begun));
  }

  /** Each step may be repeated. The names come first, so that the tools of the new device get them when it gets its id. */
  #takePlaces(begun: BegunReplacement): void {
    const { names, directory, administration, store, scenes } = this.#parts;
    const { whole, parts, sceneKeys = this.#sceneKeysOf(begun) } = begun;
    this.#keep({ ...begun, sceneKeys });
    for (const [scene, changes] of Map.groupBy(sceneKeys, (one) => one.scene)) {
      scenes.setKeys(scene, new Map(changes.map(({ index, key }) => [index, key])));
    }
    for (const { old, by } of [whole, ...parts]) {
      if (names.namesOf(by)) names.merge(by, old.id);
      if (directory.get(by)) administration.takeOver(by, old);
    }
    store.delete(SPACE, whole.old.id);
  }

  #sceneKeysOf({ whole, parts }: Replacement): readonly SceneKey[] {
    const { scenes, names } = this.#parts;
    const successors = new Map([whole, ...parts].map(({ old, by }) => [old.id, names.successors(old.id, by)]));
    return scenes.list().flatMap(({ id, actions }) =>
      actions.flatMap(({ device, key: former }, index) => {
        const key = successors.get(device)?.get(former) ?? former;
        return key === former ? [] : [{ scene: id, index, key }];
      }),
    );
  }

  #membershipsOf({ whole, parts }: Replacement): readonly GroupMembership[] {
    const devices = [whole, ...parts].map(({ old }) => old.id);
    return this.#parts.administration
      .groups()
      .flatMap(({ id, members }) => members.map((member) => ({ group: id, ...member })))
      .filter(({ device }) => devices.includes(device));
  }

  async #join(memberships: readonly GroupMembership[], signal: AbortSignal): Promise<readonly number[]> {
    const left: number[] = [];
    for (const { group, device, endpoint } of memberships) {
      try {
        await this.#parts.administration.addGroupMember(group, { device, endpoint }, { signal });
      } catch (thrown) {
        left.push(group);
        this.#parts.logger.warn('device.group_not_joined', { device, group, reason: toAtmoError(thrown).message });
      }
    }
    return left;
  }
}

/** Returns a stored replacement; undefined if it has another form. */
function parseBegun(value: Json): BegunReplacement | undefined {
  const { whole, parts, nodeId, groups, sceneKeys } = objectOf(value);
  const [first, ...others] = [whole, ...objectsOf(parts)].map(parsePair);
  const rest = others.filter((pair) => pair !== undefined);
  if (!first || rest.length !== others.length) return undefined;
  return {
    whole: first,
    parts: rest,
    ...(typeof nodeId === 'string' && { nodeId }),
    groups: objectsOf(groups).map(({ group, device, endpoint }) => ({
      group: Number(group),
      device: parseDeviceId(String(device)),
      endpoint: Number(endpoint),
    })),
    ...(sceneKeys !== undefined && {
      sceneKeys: objectsOf(sceneKeys).map(({ scene, index, key }) => ({ scene: String(scene), index: Number(index), key: String(key) })),
    }),
  };
}

function parsePair(value: Json | undefined): ReplacedPair | undefined {
  const { old, by } = objectOf(value);
  const { id, name, area } = objectOf(old);
  if (typeof by !== 'string' || typeof id !== 'string' || typeof name !== 'string') return undefined;
  return { old: { id: parseDeviceId(id), name, ...(typeof area === 'string' && { area }) }, by: parseDeviceId(by) };
}
