import type { RegisteredTool, ToolDefinition } from '../../../tools/definition/tool-definition.ts';
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

/** A tool as far as it is offered. */
export type OfferedTool = Pick<RegisteredTool, 'definition' | 'aliases'>;

/**
 * Beginning of the tags by which the tool of a device tells its other names, those that it had before among them. A definition has
 * one form, and whatever is not described is refused; the first hubs take these for tags like others.
 */
export const ALIAS_TAG = 'alias:';

const offered = new WeakMap<ToolDefinition, OfferedDefinition>();

/** So many are made at a time, a hundredth of a second of work and a few times that on a small board. */
const AT_A_TIME = 32;

/** Makes some more of what is not made yet; true when all is. */
export function offerSome(tools: Iterable<OfferedTool>): boolean {
  let left = AT_A_TIME;
  for (const tool of tools) {
    if (offered.has(tool.definition)) continue;
    if (left === 0) return false;
    left -= 1;
    offeredDefinition(tool);
  }
  return true;
}

/** A definition as the other hubs get it; made once. */
export function offeredDefinition({ definition, aliases = [] }: OfferedTool): OfferedDefinition {
  const known = offered.get(definition);
  if (known) return known;
  const { metadata } = definition;
  const names = metadata.device === undefined ? [] : aliases.map((alias) => `${ALIAS_TAG}${alias}`);
  const told = { ...definition, metadata: { ...metadata, tags: [...metadata.tags, ...names] } };
  const blob = blobOf(new TextEncoder().encode(canonicalJson(toPublicDefinition(told))));
  const made = { blob, hash: shortName(blob.sha256) };
  offered.set(definition, made);
  return made;
}
