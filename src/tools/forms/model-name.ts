import { sha256Hex } from '../../wire/hashes.ts';

/** Longest name that the common model clients leave whole after their own prefixes. */
export const MODEL_NAME_LIMIT = 40;
const HASH_LENGTH = 6;

/**
 * Names for models, `[a-z0-9_]` and at most 40 characters, for unversioned tools `namespace:name`. The answer depends
 * on the set of tools only, never on their order; a hash suffix appears where a name was cut or would be taken twice
 * (the core tool keeps the plain one, and one of the hub or a device keeps it before those that agents made).
 */
export function modelNames(tools: readonly string[]): ReadonlyMap<string, string> {
  const claims = new Map<string, string[]>();
  for (const tool of tools) {
    const plain = plainName(tool);
    claims.set(plain, [...(claims.get(plain) ?? []), tool]);
  }
  const names = new Map<string, string>();
  for (const [plain, claimants] of claims) {
    for (const tool of claimants) names.set(tool, keepsPlainName(tool, plain, claimants) ? plain : hashedName(tool, plain));
  }
  return names;
}

/** The name that a tool has for models while no other one wants it. */
export function plainName(tool: string): string {
  const name = tool.slice(tool.indexOf(':') + 1);
  return name.toLowerCase().replace(/[^a-z0-9]+/g, '_');
}

function keepsPlainName(tool: string, plain: string, claimants: readonly string[]): boolean {
  if (plain.length > MODEL_NAME_LIMIT) return false;
  const isOnlyOneOfCore = tool.startsWith('core:') && claimants.filter((other) => other.startsWith('core:')).length === 1;
  const brought = claimants.filter((other) => !other.startsWith('agent:'));
  return claimants.length === 1 || isOnlyOneOfCore || (brought.length === 1 && brought[0] === tool);
}

function hashedName(tool: string, plain: string): string {
  return `${plain.slice(0, MODEL_NAME_LIMIT - HASH_LENGTH - 1)}_${sha256Hex(tool).slice(0, HASH_LENGTH)}`;
}
