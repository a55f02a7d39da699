import type { Field } from './documents/search-document.ts';
import type { Alternative, Need } from './need.ts';

/** A need that was met, by what, and where it stands. */
export interface MetNeed {
  readonly need: Need;
  readonly alternative: Alternative;
  readonly field: Field;
}

/** Why something was found, for people and models: `area: kitchen`, `type: lamp (light)`, `action: turn off`. */
export function reasonsOf(met: readonly MetNeed[]): readonly string[] {
  return [...new Set(met.map(reason))];
}

function reason({ need, alternative, field }: MetNeed): string {
  const { term } = alternative;
  const mark = term.slice(0, 1);
  if (mark === '!') return `action: ${need.label}${alternative.strength < 1 && need.kind === 'action' ? ` (${term.slice(1)})` : ''}`;
  if (mark === '#') return `value: ${need.label}`;
  if (mark === '~') return `${field}: ${need.label} (${term.slice(1).replaceAll('_', ' ')})`;
  return `${field}: ${need.label}${need.alternatives.indexOf(alternative) > 0 ? ` (${term})` : ''}`;
}
