import { hash } from 'node:crypto';
import type { HubId } from '../../core/ids.ts';

/** Number of border members of a site. If one is lost, the other one still forwards. */
export const BORDERS = 2;

/**
 * Returns the border members of a site, the first of which makes the site's summary. Each hub has a rank that depends only on its id and the
 * site (rendezvous hashing, Thaler and Ravishankar 1998), so hubs that know the same candidates choose the same ones, and the choice
 * changes only if a chosen hub leaves or one with a better rank comes.
 */
export function chooseBorders(site: string, candidates: readonly HubId[]): readonly HubId[] {
  const ranked = candidates.map((id) => ({ id, rank: hash('sha256', `${site}\n${id}`, 'hex') }));
  ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1));
  return ranked.slice(0, BORDERS).map(({ id }) => id);
}
