import type { Authorizer } from '../../core/auth/principal.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { areaKey, foldedName } from '../../core/devices/device-names.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { Json } from '../../core/json.ts';
import { parseToolName } from '../definition/tool-names.ts';

/** A stored text that may name a device or a tool. */
export interface ReferringText {
  readonly kind: 'automation' | 'agent' | 'token' | 'rule' | 'tool' | 'setting';
  /** Id of the automation, token, rule, tool or setting, for people. */
  readonly id: string;
  readonly content: Json;
  /** True for a use that only places something in an area: its subject moves with a renamed area. */
  readonly isPlace?: boolean;
}

/** A user of a name, and the spellings there. */
export interface NameReference {
  readonly kind: ReferringText['kind'];
  readonly id: string;
  readonly as: readonly string[];
  readonly isPlace?: boolean;
}

/** The names to search for: a device by its id, its names for people and the names of its tools, or areas by their keys. */
export interface NamesToFind {
  readonly device?: string;
  readonly areas?: readonly string[];
  readonly texts: readonly string[];
  readonly tools: readonly string[];
}

/** Finds the automations, tokens, rules and tools that use a name, so that nobody unknowingly changes or frees it. */
export class NameReferences {
  readonly #sources: (() => readonly ReferringText[])[] = [];

  /** Adds a source of texts; it is read at every search. */
  add(source: () => readonly ReferringText[]): void {
    this.#sources.push(source);
  }

  of(wanted: NamesToFind): readonly NameReference[] {
    const isArea = areaMatcherOf(wanted);
    const isName = matcherOf(wanted);
    return this.#sources
      .flatMap((source) => source())
      .flatMap(({ kind, id, content, isPlace = false }) => {
        const as = [...new Set(stringsIn(content).filter((text) => isArea(text) || (!isPlace && isName(text))))];
        return as.length === 0 ? [] : [{ kind, id, as, ...(isPlace && { isPlace }) }];
      });
  }
}

function matcherOf({ device, texts, tools }: NamesToFind): (text: string) => boolean {
  const called = new Set(texts.map(foldedName));
  const toolNames = new Set(tools);
  return (text) => {
    if (called.has(foldedName(text)) || toolNames.has(parseToolName(text)?.name ?? '')) return true;
    // A permission, a reading or a path names a device by its id: `device:control:lamp`, `lamp/is_on`.
    return device !== undefined && text.split(/[:/]/).includes(device);
  };
}

/** Returns a matcher for a name that is the whole text, or a part of a permission or path such as `device:control:@area/bath`. */
function areaMatcherOf({ areas = [] }: NamesToFind): (text: string) => boolean {
  const keys = new Set(areas);
  return (text) => keys.size > 0 && (keys.has(areaKey(text)) || text.split(/[:/]/).some((part) => keys.has(part)));
}

/** Returns all texts of a value, names of members among them. */
function stringsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(stringsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [name, ...stringsIn(member)]);
}

/** The present and former names of a device; in each list the present names come first. */
export interface ClaimedDeviceNames {
  readonly device: DeviceId;
  readonly names: readonly string[];
  /** Prefixes of the device's tool names. */
  readonly prefixes: readonly string[];
  readonly tools: readonly string[];
}

/** Port: the names of devices, which stay theirs until they are freed. */
export interface DeviceNameOwnership {
  namesOf(device: DeviceId): ClaimedDeviceNames | undefined;
  all(): readonly ClaimedDeviceNames[];
  findHolder(name: string): DeviceId | undefined;
  /** Returns the device whose tools begin with the prefix that a device's name would give; undefined if the prefix is the device's own. */
  holderOfWanted(device: Device): DeviceId | undefined;
  /** Frees a name and returns the texts that no longer belong to the device. Throws STORAGE_FAILED if the write fails. */
  free(device: DeviceId, name: string, isHere: boolean): readonly string[];
  /** Returns the texts that `free` would remove. */
  wouldFree(device: DeviceId, name: string, isHere: boolean): readonly string[];
  /** Gives the names of a device to the former device that it was recognised as. Throws STORAGE_FAILED if the write fails. */
  merge(from: DeviceId, to: DeviceId): void;
}

/** The parts of the hub that know the names of devices and rooms. */
export interface NamingPorts {
  readonly register: DeviceNameOwnership;
  readonly directory: Pick<DeviceDirectory, 'get' | 'list'>;
  readonly uses: Pick<NameReferences, 'of'>;
  readonly authorizer: Authorizer;
  areaToday(area: string): string;
}
