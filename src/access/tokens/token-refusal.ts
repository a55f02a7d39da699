import { AtmoError, type ErrorCode } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';

/** Refuses a token; the message never repeats any of it. `details` may name it only where its signatures were verified. */
export function refuseToken(
  problem: string,
  details: JsonObject = {},
  code: Extract<ErrorCode, 'TOKEN_INVALID' | 'TOKEN_EXPIRED'> = 'TOKEN_INVALID',
): never {
  throw new AtmoError(code, `The token is refused: ${problem}; ask whoever gave it to you for a new one`, details);
}
