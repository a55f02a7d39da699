import type { JsonObject } from '../../../core/json.ts';
import type { Category } from '../../../tools/definition/tool-definition.ts';

/** Strokes on a field of 24 by 24. */
const STROKES: Readonly<Record<Category, string>> = {
  sensing: 'M10 14V4a2 2 0 014 0v10a4 4 0 11-4 0z',
  acting: 'M12 3v8M7 6a8 8 0 1010 0',
  communicating: 'M4 5h16v11H9l-5 4z',
  querying: 'M10 4a6 6 0 100 12 6 6 0 000-12zM15 15l5 5',
  computing: 'M6 6h12v12H6zM9 2v4M15 2v4M9 18v4M15 18v4',
  managing: 'M4 7h16M4 12h16M4 17h16',
};

const icons = new Map(Object.entries(STROKES).map(([category, path]) => [category, [iconOf(path)]]));

/** `icons` of a tool: one drawing for each category, within the list itself so that nothing has to be fetched. */
export function iconsOf(category: Category): readonly JsonObject[] {
  return icons.get(category) ?? [];
}

function iconOf(path: string): JsonObject {
  const svg = `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none' stroke='%23789' stroke-width='2'><path d='${path}'/></svg>`;
  return {
    src: `data:image/svg+xml,${svg.replaceAll('<', '%3C').replaceAll('>', '%3E').replaceAll(' ', '%20')}`,
    mimeType: 'image/svg+xml',
  };
}
