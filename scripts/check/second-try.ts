import type { Outcome } from './tally.ts';

/**
 * The outcome of checks that may be run again: what the first run came to where nothing failed in it, otherwise what the second comes
 * to, with what failed before as notes. What fails twice is wrong; what fails once is told and counts as passed.
 */
export async function withSecondTry(first: Outcome, again: () => Promise<Outcome>): Promise<Outcome> {
  if (first.tally.failed === 0) return first;
  const second = await again();
  const notes = first.notes.filter((note) => note.startsWith('failed: ')).map((note) => note.replace('failed', 'failed at the first try'));
  return { ...second, notes: [...notes, ...second.notes] };
}
