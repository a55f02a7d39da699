import type { ToolDefinition } from './tool-definition.ts';

/** Tag of a tool that is composed of others. */
export const COMPOSED = 'composed';
/** Tag of one of which a step has to be approved by a person. */
export const NEEDS_APPROVAL = 'needs_approval';
/**
 * Tag of a tool that replaces or ends something for good, or that can have other tools do so. Tags travel between hubs of every
 * version, where a new member of a definition would be refused.
 */
export const DESTRUCTIVE = 'destructive';

/** Namespaces of what the hub and its device profiles bring: such tools say what they do by their names and tags. */
const OWN_NAMESPACES: ReadonlySet<string> = new Set(['core', 'hub', 'matter', 'gpio']);
/** Words of names of tools that take something away, which none of them gives back. */
const ENDING = new Set([
  ...['cancel', 'clear', 'close', 'decommission', 'delete', 'dismiss', 'end', 'erase', 'forget', 'kill', 'leave', 'remove', 'reset'],
  ...['restore', 'revoke', 'rotate', 'unbind', 'unregister', 'wipe'],
]);
/** A cover that closes, a valve that closes and a charging plan that is cancelled can all be undone by another call. */
const UNDONE_BY_ANOTHER = new Set(['cancel', 'close', 'end']);

/**
 * True for a tool that may do more than add something or set a state that another call sets back: what is dangerous, what ends
 * something, what has other tools do so, and whatever acts and comes from elsewhere, of which nothing is known.
 */
export function isDestructive({ name, namespace, execution, metadata }: ToolDefinition): boolean {
  const { isDangerous, tags, device } = metadata;
  if (!execution.hasSideEffects) return false;
  if (isDangerous || tags.includes(DESTRUCTIVE) || tags.includes(NEEDS_APPROVAL)) return true;
  if (tags.includes(COMPOSED)) return false;
  if (!OWN_NAMESPACES.has(namespace)) return true;
  const named = new Set(wordsOf(device ?? ''));
  return wordsOf(name).some((word) => ENDING.has(word) && !named.has(word) && !(device !== undefined && UNDONE_BY_ANOTHER.has(word)));
}

function wordsOf(name: string): readonly string[] {
  return name.toLowerCase().split(/[^a-z0-9]+/);
}
