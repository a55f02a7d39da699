import { AtmoError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';

/** How much of a list is told at once. */
export const PER_PAGE = 100;
const MAX_CHARS = 4_096;

/** What a client sends back to go on with a list (MCP, pagination): opaque to it. */
export function cursorOf(text: string): string {
  return Buffer.from(text).toString('base64url');
}

/** The groups of `form` in the text of a cursor. VALIDATION_ERROR for a cursor that the list did not give. */
export function cursorParts(cursor: Json, form: RegExp): readonly string[] {
  const text = typeof cursor === 'string' && cursor.length <= MAX_CHARS ? Buffer.from(cursor, 'base64url').toString() : '';
  const match = form.exec(text);
  if (match) return match.slice(1);
  throw new AtmoError('VALIDATION_ERROR', 'The cursor is not one that this list gave; begin without a cursor');
}
