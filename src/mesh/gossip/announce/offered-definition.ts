import type { ToolDefinition } from '../../../tools/definition/tool-definition.ts';
import { toPublicDefinition } from '../../../tools/forms/public-definition.ts';
import { canonicalJson } from '../../../wire/canonical-json.ts';
import { type Blob, blobOf, shortName } from '../exchange/blob-store.ts';

/** A definition as other hubs fetch it. */
export interface OfferedDefinition {
  /** RFC 8785 JSON of the public form. */
  readonly blob: Blob;
  /** First 8 bytes of its SHA-256, hex: the name that is announced. */
  readonly hash: string;
}

const offered = new WeakMap<ToolDefinition, OfferedDefinition>();

/** So many are made at a time, a hundredth of a second of work and a few times that on a small board. */
const AT_A_TIME = 32;

/** Makes some more of what is not made yet; true when all is. */
export function offerSome(definitions: Iterable<ToolDefinition>): boolean {
  let left = AT_A_TIME;
  for (const definition of definitions) {
    if (offered.has(definition)) continue;
    if (left === 0) return false;
    left -= 1;
    offeredDefinition(definition);
  }
  return true;
}

/** A definition as the other hubs get it; made once. */
export function offeredDefinition(definition: ToolDefinition): OfferedDefinition {
  const known = offered.get(definition);
  if (known) return known;
  const blob = blobOf(new TextEncoder().encode(canonicalJson(toPublicDefinition(definition))));
  const made = { blob, hash: shortName(blob.sha256) };
  offered.set(definition, made);
  return made;
}
