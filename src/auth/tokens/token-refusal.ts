import type { Clock } from '../../core/clock.ts';
import { AtmoError, type ErrorCode } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { type Logger, redact } from '../../core/logger.ts';
import { type AuditSink, recordNote } from '../../core/storage/audit-sink.ts';

/** Refuses a token; the message never repeats any of it. `details` may name it only where its signatures were verified. */
export function refuseToken(
  problem: string,
  details: JsonObject = {},
  code: Extract<ErrorCode, 'TOKEN_INVALID' | 'TOKEN_EXPIRED'> = 'TOKEN_INVALID',
): never {
  throw new AtmoError(code, `The token is refused: ${problem}; ask whoever gave it to you for a new one`, details);
}

const MAX_PER_SECOND = 10;
const MAX_OPERATION_LENGTH = 200;

interface NoteCollaborators {
  readonly audit: AuditSink;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Writes refused credentials into the journal, at most ten a second: guessing cannot fill the disk. */
export class TokenRefusalLog {
  readonly #collaborators: NoteCollaborators;
  #windowStartMs = Number.NEGATIVE_INFINITY;
  #inWindow = 0;
  #unwritten = 0;

  constructor(collaborators: NoteCollaborators) {
    this.#collaborators = collaborators;
  }

  /** Resolves when the refusal is written or counted; the next note tells how many were only counted. Never throws. */
  async write({ code, details }: AtmoError, operation: string): Promise<void> {
    if (!this.#takeTurn()) return;
    const { agent_id: agentId, token_id: tokenId } = details;
    const data: JsonObject = {
      code,
      // A path may be anything that a stranger sends, and the query part may be a secret in the wrong place.
      operation: String(redact(operation.slice(0, MAX_OPERATION_LENGTH).replace(/\?.*$/s, ''))),
      ...(typeof tokenId === 'string' && { token_id: tokenId }),
      ...(this.#unwritten > 0 && { unwritten_before: this.#unwritten }),
    };
    this.#unwritten = 0;
    const principalId = typeof agentId === 'string' ? { principalId: agentId } : {};
    await recordNote(this.#collaborators, { event: 'token.refused', atMs: this.#collaborators.clock.now(), ...principalId, data });
  }

  #takeTurn(): boolean {
    const nowMs = this.#collaborators.clock.monotonic();
    if (nowMs - this.#windowStartMs >= 1000) {
      this.#windowStartMs = nowMs;
      this.#inWindow = 0;
    }
    this.#inWindow += 1;
    if (this.#inWindow <= MAX_PER_SECOND) return true;
    this.#unwritten += 1;
    return false;
  }
}
