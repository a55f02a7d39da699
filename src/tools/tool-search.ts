import { compareText } from '../core/edit-distance.ts';
import type { RegisteredTool } from './tool-definition.ts';

/** A tool that fits a sentence, and why. */
export interface ToolMatch {
  readonly tool: RegisteredTool;
  /** Above 0; only the order has meaning. */
  readonly score: number;
  /** Such as `name: light`, `area: kitchen`. */
  readonly reasons: readonly string[];
}

/** What somebody looks for, in their own words. */
export interface SearchQuery {
  readonly text: string;
  /** Default 10. */
  readonly limit?: number;
}

/** Finds tools from a sentence; other engines stand behind the same interface. */
export interface ToolSearch {
  search(query: SearchQuery, tools: readonly RegisteredTool[]): readonly ToolMatch[];
}

interface Field {
  readonly name: string;
  readonly weight: number;
  readonly words: ReadonlySet<string>;
}

/** Words of one meaning at home; each line means the same. */
const SYNONYMS: readonly (readonly string[])[] = [
  ['light', 'lamp', 'bulb'],
  ['on', 'enable', 'start'],
  ['off', 'disable', 'stop'],
  ['dim', 'brightness', 'bright', 'level'],
  ['temperature', 'warm', 'cold', 'hot', 'heat', 'degrees'],
  ['thermostat', 'heating', 'heater', 'climate'],
  ['cover', 'blind', 'shutter', 'curtain', 'shade'],
  ['lock', 'door'],
  ['notify', 'alert', 'message', 'notification', 'tell'],
  ['picture', 'image', 'photo', 'camera'],
  ['plug', 'outlet', 'socket'],
  ['motion', 'occupancy', 'presence'],
  ['add', 'commission', 'pair', 'join'],
  ['remove', 'delete', 'decommission'],
  ['read', 'query', 'get', 'show', 'what'],
];
const STOP_WORDS = new Set(['the', 'a', 'an', 'to', 'in', 'of', 'for', 'and', 'is', 'it', 'at', 'please', 'my', 'me', 'i']);
const SYNONYM_FACTOR = 0.6;
const PREFIX_FACTOR = 0.5;
const MIN_PREFIX = 4;

const synonymsOf = new Map<string, ReadonlySet<string>>();
for (const line of SYNONYMS) for (const word of line) synonymsOf.set(word, new Set([...(synonymsOf.get(word) ?? []), ...line]));

const fieldsOf = new WeakMap<RegisteredTool, readonly Field[]>();

/** Deterministic word matching over name, tags, title, area, device and description; a rare word counts more than a common one. */
export const lexicalSearch: ToolSearch = {
  search({ text, limit = 10 }, tools) {
    const wanted = [...wordsOf(text)].filter((word) => !STOP_WORDS.has(word));
    const scored = wanted.map((word) => matchesOf(word, tools));
    const totals = new Map<RegisteredTool, { score: number; reasons: string[] }>();
    for (const matches of scored) {
      const rarity = Math.log(1 + tools.length / Math.max(1, matches.length));
      for (const { tool, score, reason } of matches) {
        const total = totals.get(tool) ?? { score: 0, reasons: [] };
        totals.set(tool, { score: total.score + score * rarity, reasons: [...total.reasons, reason] });
      }
    }
    return [...totals]
      .map(([tool, { score, reasons }]) => ({ tool, score: Math.round(score * 1000) / 1000, reasons }))
      .sort((a, b) => b.score - a.score || compareText(a.tool.id, b.tool.id))
      .slice(0, limit);
  },
};

function matchesOf(word: string, tools: readonly RegisteredTool[]) {
  return tools.flatMap((tool) => {
    const best = bestField(word, indexedFields(tool));
    return best ? [{ tool, ...best }] : [];
  });
}

function bestField(word: string, fields: readonly Field[]): { readonly score: number; readonly reason: string } | undefined {
  let best: { readonly score: number; readonly reason: string } | undefined;
  for (const field of fields) {
    const match = matchWord(word, field.words);
    const score = match ? field.weight * match.factor : 0;
    if (match && score > (best?.score ?? 0)) best = { score, reason: `${field.name}: ${match.word}` };
  }
  return best;
}

function matchWord(word: string, words: ReadonlySet<string>): { readonly word: string; readonly factor: number } | undefined {
  if (words.has(word)) return { word, factor: 1 };
  for (const synonym of synonymsOf.get(word) ?? []) if (words.has(synonym)) return { word: synonym, factor: SYNONYM_FACTOR };
  if (word.length < MIN_PREFIX) return undefined;
  for (const other of words)
    if (other.startsWith(word) || (other.length >= MIN_PREFIX && word.startsWith(other))) return { word: other, factor: PREFIX_FACTOR };
  return undefined;
}

function indexedFields(tool: RegisteredTool): readonly Field[] {
  const known = fieldsOf.get(tool);
  if (known) return known;
  const { name, namespace, description, metadata } = tool.definition;
  const fields: readonly Field[] = [
    { name: 'name', weight: 4, words: wordsOf(name) },
    { name: 'tag', weight: 3, words: wordsOf(metadata.tags.join(' ')) },
    { name: 'title', weight: 3, words: wordsOf(metadata.title) },
    { name: 'area', weight: 3, words: wordsOf(metadata.area ?? '') },
    { name: 'device', weight: 3, words: wordsOf(metadata.device ?? '') },
    { name: 'description', weight: 1, words: wordsOf(description) },
    { name: 'namespace', weight: 1, words: wordsOf(namespace) },
  ];
  fieldsOf.set(tool, fields);
  return fields;
}

/** Lower-case words without marks and plural s. */
function wordsOf(text: string): ReadonlySet<string> {
  const plain = text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase();
  return new Set(
    (plain.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) =>
      word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word,
    ),
  );
}
