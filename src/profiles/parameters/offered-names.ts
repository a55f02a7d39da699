import { snake } from '../../core/devices/matter-words.ts';
import { isJsonObject, type Json, type JsonSchema } from '../../core/json.ts';
import type { ClusterView } from '../clusters/cluster-view.ts';
import type { OfferedEntry } from '../files/capability-file.ts';

/** A schema of one name or a list of names, with only those that the device offers; unchanged while it did not say which. */
export function onlyOffered(schema: JsonSchema, offered: OfferedEntry | readonly OfferedEntry[], view: ClusterView): JsonSchema {
  return [offered].flat().reduce<JsonSchema>((left, entry) => narrowed(left, (name) => isOffered(name, entry, view)), schema);
}

function narrowed(schema: JsonSchema, isOffered: (name: string) => boolean): JsonSchema {
  if (isJsonObject(schema.items as Json)) return { ...schema, items: narrowed(schema.items as JsonSchema, isOffered) };
  const names = (Array.isArray(schema.enum) ? schema.enum : []).filter((name) => isOffered(String(name)));
  // A device that offers nothing at all says something wrong; its own refusal is then the better answer.
  return names.length === 0 ? schema : { ...schema, enum: names };
}

function isOffered(name: string, entry: OfferedEntry, view: ClusterView): boolean {
  if (typeof entry === 'string') return namesIn(view.live(entry))?.includes(name) ?? true;
  if ('cluster' in entry) return view.hasNeighbour(entry.cluster) || !entry.names.includes(name);
  const value = view.live(entry.from);
  return entry.names[typeof value === 'string' ? snake(value) : '']?.includes(name) ?? true;
}

/** What an attribute lists (`SupportedRinses`) or flags (`RockSupport`). */
function namesIn(offer: Json | undefined): readonly string[] | undefined {
  if (Array.isArray(offer)) return offer.map((name) => snake(String(name)));
  if (!isJsonObject(offer)) return undefined;
  return Object.entries(offer).flatMap(([name, isOffered]) => (isOffered === true ? [snake(name)] : []));
}
