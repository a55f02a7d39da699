import type { Authorizer } from '../../core/auth/principal.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { areaKey, foldedName } from '../../core/devices/device-names.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { Json } from '../../core/json.ts';
import { parseToolName } from '../definition/tool-names.ts';

/** A stored text that may name a device, an area or a tool. */
export interface ReferringText {
  readonly kind: 'automation' | 'agent' | 'token' | 'rule' | 'tool' | 'setting' | 'scene';
  /** Id of the automation, token, rule, tool or setting that contains the text, for people. */
  readonly id: string;
  readonly content: Json;
  /** True if the text only says in which area something is. After a rename, the hub still finds the area by the old name in the text. */
  readonly isPlace?: boolean;
}

/** A stored object that uses a name. `as` lists the spellings in which the object uses it. */
export interface NameReference {
  readonly kind: ReferringText['kind'];
  readonly id: string;
  readonly as: readonly string[];
  readonly isPlace?: boolean;
}

/** The names to search for: a device's id, names and tool names, or the keys of areas. */
export interface NamesToFind {
  readonly device?: string;
  readonly areas?: readonly string[];
  readonly texts: readonly string[];
  readonly tools: readonly string[];
}

/** Returns the text with which a scene refers to a tool of a device: by the tool's key, which stays whatever the tool is called. */
export const toolKeyText = (device: string, key: string): string => `${device} ${key}`;

/** Finds the automations, tokens, rules and tools that use a name, so that nobody changes or releases a used name unknowingly. */
export class NameReferences {
  readonly #sources: (() => readonly ReferringText[])[] = [];

  /** Adds a source of texts. Every search reads the source again. */
  add(source: () => readonly ReferringText[]): void {
    this.#sources.push(source);
  }

  of(wanted: NamesToFind): readonly NameReference[] {
    const isArea = areaMatcherOf(wanted);
    const isName = matcherOf(wanted);
    return this.#sources
      .flatMap((source) => source())
      .flatMap(({ kind, id, content, isPlace = false }) => {
        const isUse = (text: string) => isArea(text) || (!isPlace && isName(text)) || (kind === 'scene' && isToolOf(text, wanted));
        const as = [...new Set(stringsIn(content).filter(isUse))];
        return as.length === 0 ? [] : [{ kind, id, as, ...(isPlace && { isPlace }) }];
      });
  }
}

/** Returns whether a scene's text means a tool of the device (`toolKeyText`). */
function isToolOf(text: string, { device }: NamesToFind): boolean {
  return device !== undefined && text.startsWith(`${device} `);
}

function matcherOf({ device, texts, tools }: NamesToFind): (text: string) => boolean {
  const called = new Set(texts.map(foldedName));
  const toolNames = new Set(tools);
  return (text) => {
    if (called.has(foldedName(text)) || toolNames.has(parseToolName(text)?.name ?? '')) return true;
    // Permissions, readings and paths contain the device's id as a part: `device:control:lamp`, `lamp/is_on`.
    return device !== undefined && text.split(/[:/]/).includes(device);
  };
}

/** Returns a function that tests whether a text is or contains the name of one of the areas, as in `device:control:@area/bath`. */
function areaMatcherOf({ areas = [] }: NamesToFind): (text: string) => boolean {
  const keys = new Set(areas);
  return (text) => keys.size > 0 && (keys.has(areaKey(text)) || text.split(/[:/]/).some((part) => keys.has(part)));
}

/** Returns all texts in a JSON value, including the names of members. */
function stringsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(stringsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [name, ...stringsIn(member)]);
}

/** The current and former names of a device. In each list, current names come first. */
export interface ClaimedDeviceNames {
  readonly device: DeviceId;
  readonly names: readonly string[];
  /** Prefixes of the names of the device's tools. */
  readonly prefixes: readonly string[];
  readonly tools: readonly string[];
}

/** Port: the names of devices. A device keeps its former names until they are released. */
export interface DeviceNameOwnership {
  namesOf(device: DeviceId): ClaimedDeviceNames | undefined;
  all(): readonly ClaimedDeviceNames[];
  findHolder(name: string): DeviceId | undefined;
  /** Returns the other device that holds the tool name prefix made from this device's name; undefined if no other device holds it. */
  holderOfWanted(device: Device): DeviceId | undefined;
  /**
   * Frees `name` and the tool names that begin with it, and returns the freed names. `isHere` says that the device still exists; such a
   * device keeps its current names. Throws STORAGE_FAILED if the write fails.
   */
  free(device: DeviceId, name: string, isHere: boolean): readonly string[];
  /** Returns the names that `free` would free, and changes nothing. */
  wouldFree(device: DeviceId, name: string, isHere: boolean): readonly string[];
  /** Moves all names from `from` to `to`: one device with two ids, or a device and the one that it replaces. Throws STORAGE_FAILED. */
  merge(from: DeviceId, to: DeviceId): void;
  /** Returns the key of the tool of `present` that does what a tool of `former` did, by the key of that. Lacks tools without counterpart. */
  successors(former: DeviceId, present: DeviceId): ReadonlyMap<string, string>;
  /** Returns which tools and readings of `from` have no counterpart at `to`. */
  lacking(from: DeviceId, to: DeviceId): LackingNames;
}

/** Names of tools, and paths of readings such as `temperature`, that a device has and another one lacks. */
export interface LackingNames {
  readonly tools: readonly string[];
  /** Keys of these tools. */
  readonly toolKeys: readonly string[];
  readonly readings: readonly string[];
}

/** The parts of the hub that know the names of devices and areas. */
export interface NamingPorts {
  readonly register: DeviceNameOwnership;
  readonly directory: Pick<DeviceDirectory, 'get' | 'list'>;
  readonly uses: Pick<NameReferences, 'of'>;
  readonly authorizer: Authorizer;
  areaToday(area: string): string;
}
