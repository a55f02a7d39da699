import { areaKey, foldedName } from '../../core/devices/device-names.ts';
import type { Json } from '../../core/json.ts';
import { parseToolName } from '../definition/tool-names.ts';

/** Something that was written down and may name a device or a tool. */
export interface ReferringText {
  readonly kind: 'automation' | 'agent' | 'token' | 'rule' | 'tool' | 'setting';
  /** By which people know it. */
  readonly id: string;
  readonly content: Json;
  /** It only says in which room something is: it names areas and nothing else, and what it is about moves with them. */
  readonly isPlace?: boolean;
}

/** What uses a name, and how it is written there. */
export interface NameReference {
  readonly kind: ReferringText['kind'];
  readonly id: string;
  readonly as: readonly string[];
  readonly isPlace?: boolean;
}

/** What is looked for: a device by its id, by what people call it and by the names of its tools, or areas by their keys. */
export interface NamesToFind {
  readonly device?: string;
  readonly areas?: readonly string[];
  readonly texts: readonly string[];
  readonly tools: readonly string[];
}

/** Tells which automations, tokens, rules and tools use the names of a device or an area, so that nobody changes or frees one blindly. */
export class NameReferences {
  readonly #sources: (() => readonly ReferringText[])[] = [];

  /** Adds a place where names are written down; it is read at every question. */
  add(source: () => readonly ReferringText[]): void {
    this.#sources.push(source);
  }

  of(wanted: NamesToFind): readonly NameReference[] {
    const isArea = areaMatcherOf(wanted);
    const isMeant = matcherOf(wanted);
    return this.#sources
      .flatMap((source) => source())
      .flatMap(({ kind, id, content, isPlace = false }) => {
        const as = [...new Set(stringsIn(content).filter((text) => isArea(text) || (!isPlace && isMeant(text))))];
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

/** By the text itself, or by a part of a permission or path such as `device:control:@area/bath`. */
function areaMatcherOf({ areas = [] }: NamesToFind): (text: string) => boolean {
  const keys = new Set(areas);
  return (text) => keys.size > 0 && (keys.has(areaKey(text)) || text.split(/[:/]/).some((part) => keys.has(part)));
}

/** All texts of a value, names of members among them. */
function stringsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(stringsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [name, ...stringsIn(member)]);
}
