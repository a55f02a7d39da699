import { isJsonObject, type Json, type JsonSchema } from '../../core/json.ts';
import { snake } from '../words.ts';

/** A schema of one name or a list of names, with only those that the device offers; unchanged while it did not say which. */
export function onlyOffered(schema: JsonSchema, offer: Json | undefined): JsonSchema {
  const offered = namesIn(offer);
  if (offered === undefined) return schema;
  if (isJsonObject(schema.items as Json)) return { ...schema, items: only(schema.items as JsonSchema, offered) };
  return only(schema, offered);
}

/** What an attribute lists (`SupportedRinses`) or flags (`RockSupport`). */
function namesIn(offer: Json | undefined): readonly string[] | undefined {
  if (Array.isArray(offer)) return offer.map((name) => snake(String(name)));
  if (!isJsonObject(offer)) return undefined;
  return Object.entries(offer).flatMap(([name, isOffered]) => (isOffered === true ? [snake(name)] : []));
}

// A device that offers nothing at all says something wrong; its own refusal is then the better answer.
function only(schema: JsonSchema, offered: readonly string[]): JsonSchema {
  const names = (Array.isArray(schema.enum) ? schema.enum : []).filter((name) => offered.includes(String(name)));
  return names.length === 0 ? schema : { ...schema, enum: names };
}
