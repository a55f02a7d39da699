import type { Route } from './route.ts';

const JSON_TYPE = 'application/json';
const MEDIA_TYPE = /\b(?:application|text|image)\/[a-z0-9.+-]+/g;

/** The media types in which a route can answer: JSON, and what its successful answers name. */
export function mediaOf({ answers }: Pick<Route, 'answers'>): readonly string[] {
  const named = Object.values(answers).flatMap((answer) => (typeof answer === 'string' ? [answer] : (answer.media ?? [])));
  return [...new Set([JSON_TYPE, ...named.flatMap((text) => text.match(MEDIA_TYPE) ?? [])])];
}

/** True when one of the types suits an Accept header (RFC 9110 §12.5.1); one that cannot be read suits everything. */
export function isAcceptable(accept: string | null, types: readonly string[]): boolean {
  if (accept === null || accept.includes('*/*') || accept.includes(JSON_TYPE)) return true;
  const ranges = accept.split(',').map(parseRange);
  const wanted = ranges.filter((range) => range !== undefined);
  if (wanted.length === 0) return true;
  return types.some((type) => wanted.some(({ range, quality }) => quality > 0 && matches(type, range)));
}

function parseRange(text: string): { readonly range: string; readonly quality: number } | undefined {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  if (!/^[a-z0-9.+-]+\/([a-z0-9.+-]+|\*)$/.test(range)) return undefined;
  const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  return { range, quality: quality === undefined ? 1 : Number(quality) || 0 };
}

function matches(type: string, range: string): boolean {
  return range.endsWith('/*') ? type.startsWith(range.slice(0, -1)) : type === range;
}
