import { expect, test } from 'vitest';
import { checkAutomation } from '../../../src/automations/check/automation-check.ts';
import { seededRandom } from '../../seeded-random.ts';
import { automation, daysFromNow, homePorts } from './home-fixture.ts';
import { makePairs } from './pair-generator.ts';
import type { MadePair } from './pair-parts.ts';

const SEED = Number(process.env.ATMO_SEED ?? 20260105);
const PAIRS = 400;

async function kindsFoundIn({ living, candidate, rules }: MadePair): Promise<readonly string[]> {
  const [other, own] = [living, candidate].map(({ config, permissions, endsInDays }, index) =>
    automation(index === 0 ? 'living' : 'candidate', config, {
      ...(permissions && { permissions }),
      ...(endsInDays !== undefined && { endsAtMs: daysFromNow(endsInDays) }),
    }),
  );
  if (!other || !own) throw new Error('A pair has two automations');
  const findings = await checkAutomation(own, [other], homePorts(rules));
  for (const { timeline, sentence, fix } of findings) {
    expect(timeline.length, sentence).toBeGreaterThan(0);
    expect(fix, sentence).not.toBe('');
  }
  return findings.map(({ kind }) => kind);
}

/** Whether the found kinds hold the one that was made. A lack of permissions has two kinds. */
function isFound(kinds: readonly string[], made: string): boolean {
  return made === 'permission' ? kinds.includes('lacks_permission') || kinds.includes('ends_before') : kinds.includes(made);
}

test(`of ${PAIRS} made pairs, at least 95 % of the conflicts are found, with at most 5 % false alarms`, async () => {
  const pairs = makePairs(PAIRS, seededRandom(SEED));
  const checked = await Promise.all(pairs.map(async (pair) => ({ pair, kinds: await kindsFoundIn(pair) })));
  const missed = checked.filter(({ pair, kinds }) => pair.isConflict && !isFound(kinds, pair.kind));
  const alarms = checked.filter(({ pair, kinds }) => !pair.isConflict && kinds.length > 0);
  const strange = checked.filter(({ pair, kinds }) => pair.isConflict && kinds.some((kind) => !isFound([kind], pair.kind)));
  const [conflicts, harmless] = [checked.filter(({ pair }) => pair.isConflict), checked.filter(({ pair }) => !pair.isConflict)];
  const rows = [...Map.groupBy(checked, ({ pair }) => pair.kind)].map(([kind]) => {
    const own = (list: typeof checked) => list.filter(({ pair }) => pair.kind === kind).length;
    return `${kind}: found ${own(conflicts) - own(missed)} of ${own(conflicts)}, false alarms ${own(alarms)} of ${own(harmless)}, with another kind beside ${own(strange)}`;
  });
  console.log(`Seed ${SEED}\n${rows.join('\n')}`);
  const shown = [...missed, ...alarms].map(
    ({ pair, kinds }) => `${pair.kind}, ${pair.isConflict ? 'missed' : `alarm ${kinds}`}: ${pair.made}`,
  );
  expect(new Set(conflicts.map(({ pair }) => pair.kind)).size).toBe(8);
  expect(missed.length / conflicts.length, shown.join('\n')).toBeLessThanOrEqual(0.05);
  expect(alarms.length / harmless.length, shown.join('\n')).toBeLessThanOrEqual(0.05);
});
