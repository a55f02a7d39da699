import type { Mutant } from './mutants.ts';

/** A mutant that does what the source does, and why nobody can notice it. Read by hand. */
interface Equivalent extends Pick<Mutant, 'file' | 'text' | 'instead'> {
  readonly why: string;
}

export const EQUIVALENT: readonly Equivalent[] = [
  {
    file: 'src/storage/audit/audit-recovery.ts',
    text: 'losses.length > 0',
    instead: 'losses.length >= 0',
    why: 'the rows before the first call without an outcome are read too, and hold none',
  },
  {
    file: 'src/auth/oauth/consent-requests.ts',
    text: 'found.expiresAtMs > this.#parts.time.now()',
    instead: 'found.expiresAtMs >= this.#parts.time.now()',
    why: 'in that millisecond the store has no longer the request',
  },
  {
    file: 'src/calls/pipeline.ts',
    text: "''",
    instead: "'mutated'",
    why: 'every error has a stack',
  },
  {
    file: 'src/codec/cbor.ts',
    text: 'this.#view.getUint8(at) > 0x7f',
    instead: 'this.#view.getUint8(at) >= 0x7f',
    why: 'what is not taken for ASCII is read as UTF-8, which is the same for this character',
  },
  {
    file: 'src/codec/messages/announced-state.ts',
    text: "name.includes('@')",
    instead: 'true',
    why: 'names that are not known to be plain are checked whole',
  },
  {
    file: 'src/codec/passphrase-encryption.ts',
    text: '128',
    instead: '256',
    why: 'it only allows more memory than scrypt takes',
  },
  {
    file: 'src/storage/history/history-writer.ts',
    text: 'fromMs < toMs',
    instead: 'fromMs <= toMs',
    why: 'where both are the same there is nothing to sum up',
  },
];

export function whyEquivalent(mutant: Mutant): string | undefined {
  return EQUIVALENT.find(({ file, text, instead }) => file === mutant.file && text === mutant.text && instead === mutant.instead)?.why;
}
