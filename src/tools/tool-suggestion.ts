import { editDistance, nearestTexts } from '../core/edit-distance.ts';
import { AtmoError } from '../core/errors.ts';
import type { RegisteredTool } from './definition/tool-definition.ts';
import { toolKey } from './definition/tool-name.ts';

const NEAR_WORD_DISTANCE = 2;

/** TOOL_NOT_FOUND for a name that none of the tools has which the caller may know of, with the nearest ones; of `hubs` where the caller named some. */
export function toolNotFound(name: string, listed: readonly RegisteredTool[], hubs?: readonly string[]): AtmoError {
  const suggestions = suggestTools(name.split('@')[0] ?? name, [...new Set(listed.map(toolKey))]);
  const hint = suggestions.length === 0 ? 'list the tools to see what there is' : `did you mean ${suggestions.join(' or ')}?`;
  const where = hubs ? ` on ${hubs.join(', ').slice(0, 160)}` : '';
  return new AtmoError('TOOL_NOT_FOUND', `There is no tool ${JSON.stringify(name.slice(0, 160))}${where}; ${hint}`, { suggestions });
}

/** Unversioned names like the wanted one: by the whole name, else by the part after the namespace, else by one word of it. */
function suggestTools(wanted: string, known: readonly string[]): readonly string[] {
  const whole = wanted.includes(':') ? nearestTexts(wanted, known) : [];
  if (whole.length > 0) return whole;
  const byBareName = new Map(known.map((key) => [key.slice(key.indexOf(':') + 1), key]));
  const bare = wanted.slice(wanted.indexOf(':') + 1);
  const near = nearestTexts(bare, byBareName.keys());
  const found = near.length > 0 ? near : withNearWord(bare, [...byBareName.keys()]);
  return found.map((name) => byBareName.get(name) ?? name);
}

/** Names that hold a word almost like the wanted one: `unlok` means `front_door_unlock`. */
function withNearWord(wanted: string, names: readonly string[]): readonly string[] {
  const isNear = (word: string) => editDistance(wanted.toLowerCase(), word) <= NEAR_WORD_DISTANCE && word.length > NEAR_WORD_DISTANCE;
  return names.filter((name) => name.split(/[_.-]/).some(isNear)).slice(0, 3);
}
