import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { openPart, type Part, signPart } from '../../wire/messages/signed-part.ts';
import type { DropSink } from '../link/drop-sink.ts';
import type { MemberKeys, SigningHub } from './call-ports.ts';

/** Signs what this hub tells before its answer to one request: hubs that carry it can neither change it nor keep it back unnoticed. */
export class PartSigner {
  readonly #self: SigningHub;
  readonly #requestId: string;
  #sequence = 0;

  constructor(self: SigningHub, requestId: string) {
    this.#self = self;
    this.#requestId = requestId;
  }

  /** The next part as it travels. VALIDATION_ERROR for more than fits into one. */
  sign(content: Uint8Array): Uint8Array {
    const { hubId: executingHub, privateKey } = this.#self;
    const part = { requestId: this.#requestId, executingHub, sequence: this.#sequence, content };
    const signed = signPart(part, privateKey);
    this.#sequence++;
    return signed;
  }
}

/** Whose parts are expected, and of the answer to which request. */
interface ExpectedParts {
  readonly executor: HubId;
  readonly requestId: string;
}

/** A part that the executing hub has told. */
export interface ReadPart {
  readonly content: Uint8Array;
  /** Some were told before it that did not come. */
  readonly isAfterGap: boolean;
}

/** Opens the parts of an answer: only what the executing hub itself has signed is believed, and each once. */
export class PartReader {
  readonly #parts: { readonly members: MemberKeys; readonly drops: DropSink };
  readonly #expected: ExpectedParts;
  #next = 0;

  constructor(parts: { readonly members: MemberKeys; readonly drops: DropSink }, expected: ExpectedParts) {
    this.#parts = parts;
    this.#expected = expected;
  }

  /** Undefined for what is not one of the parts, or was here before; it is counted. */
  read(bytes: Uint8Array): ReadPart | undefined {
    const part = this.#open(bytes);
    if (!part) return undefined;
    const isAfterGap = part.sequence > this.#next;
    this.#next = part.sequence + 1;
    return { content: part.content, isAfterGap };
  }

  #open(bytes: Uint8Array): Part | undefined {
    const { executor, requestId } = this.#expected;
    try {
      return openPart(bytes, (part) => {
        const isExpected = part.executingHub === executor && part.requestId === requestId && part.sequence >= this.#next;
        if (isExpected) return this.#parts.members.keyOf(executor)?.publicKey;
        throw new AtmoError('VALIDATION_ERROR', `The part is not the next one of ${executor} to this request`);
      });
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      this.#parts.drops.count('call.forged_part');
      return undefined;
    }
  }
}
