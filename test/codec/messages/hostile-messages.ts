import { AtmoError } from '../../../src/core/errors.ts';
import { HostileBytes } from './hostile-bytes.ts';
import { MESSAGE_KINDS, type MessageKind } from './message-table.ts';

/** Their bytes depend on the library that deflates, or the decoded part is not the whole message. */
const NOT_ONE_ENCODING = ['blob-answer', 'forwarded-request', 'session-call', 'session-answer'];

/** What became of bytes that hostile members might send. */
export interface AttackOutcome {
  readonly accepted: number;
  /** Milliseconds that the slowest message took. */
  readonly slowestMs: number;
}

/** True when accepted, and then the bytes are the one encoding of what they mean. Throws what is no refusal with VALIDATION_ERROR. */
export function accepts(kind: MessageKind, bytes: Uint8Array): boolean {
  const value = decoded(kind, bytes);
  if (!value) return false;
  const isOneEncoding = NOT_ONE_ENCODING.includes(kind.name) || Buffer.compare(kind.encode(value.of), bytes) === 0;
  if (isOneEncoding) return true;
  throw new RangeError(`A ${kind.name} has two encodings, one is ${Buffer.from(bytes).toString('hex')}`);
}

/** Decodes `count` malformed messages of every kind in turn, the same ones for the same seed. */
export function attack(count: number, seed: number): AttackOutcome {
  const sources = MESSAGE_KINDS.map((kind, index) => {
    const corpus = kind.samples.map((sample) => kind.encode(sample));
    return { kind, hostile: new HostileBytes(corpus, seed + index) };
  });
  let accepted = 0;
  let slowestMs = 0;
  for (let round = 0; round < count / sources.length; round++) {
    for (const { kind, hostile } of sources) {
      const bytes = hostile.next();
      const startMs = performance.now();
      if (accepts(kind, bytes)) accepted += 1;
      slowestMs = Math.max(slowestMs, performance.now() - startMs);
    }
  }
  return { accepted, slowestMs };
}

function decoded(kind: MessageKind, bytes: Uint8Array): { readonly of: unknown } | undefined {
  try {
    return { of: kind.decode(bytes) };
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'VALIDATION_ERROR') return undefined;
    throw error;
  }
}
