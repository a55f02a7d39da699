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
    file: 'src/calls/idempotency-store.ts',
    text: 'stored.call_hash !== callHash',
    instead: 'false',
    why: 'expired answers are no longer counted at that point, and the key of a living one cannot be used by another call',
  },
];

export function whyEquivalent(mutant: Mutant): string | undefined {
  return EQUIVALENT.find(({ file, text, instead }) => file === mutant.file && text === mutant.text && instead === mutant.instead)?.why;
}
