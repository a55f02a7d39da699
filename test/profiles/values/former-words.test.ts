import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { compares } from '../../../src/auth/rules/rule-terms.ts';
import { readingMatches } from '../../../src/automations/triggers/reading-watch.ts';
import { VALUE_ALIASES } from '../../../src/core/devices/matter-names.ts';
import { isJsonObject, type Json } from '../../../src/core/json.ts';
import { described, homeWith, PROFILE_DIRECTORY, runTool, toolOf, validator } from '../device-fixtures.ts';

/** Every `rename` of a profile. */
function renamesIn(value: Json): readonly (readonly [string, Json])[] {
  if (Array.isArray(value)) return value.flatMap((item: Json) => renamesIn(item));
  if (!isJsonObject(value)) return [];
  const own = isJsonObject(value.rename) ? Object.entries(value.rename) : [];
  return [...own, ...Object.values(value).flatMap(renamesIn)];
}

describe('words that values had before', () => {
  test('are all that the profiles gave plain ones', () => {
    const files = globSync('{capabilities,devices}/*.json', { cwd: PROFILE_DIRECTORY });
    const renames = files.flatMap((file) => renamesIn(JSON.parse(readFileSync(join(PROFILE_DIRECTORY, file), 'utf8')) as Json));
    expect(renames.length).toBeGreaterThan(30);
    expect(VALUE_ALIASES).toEqual(Object.fromEntries(renames));
  });

  test.each(Object.entries(VALUE_ALIASES))('in a rule or an automation mean the words of today: %s', (former, word) => {
    expect(compares(word, { equals: former })).toBe(true);
    expect(compares(former, { one_of: ['something', word] })).toBe(true);
    expect(readingMatches({ equals: former }, word)).toBe(true);
    expect(readingMatches({ equals: word }, former)).toBe(true);
    expect(compares(word, { equals: `not ${former}` })).toBe(false);
    expect(readingMatches({ equals: `not ${former}` }, word)).toBe(false);
  });

  test('are taken in calls and offered to nobody', async () => {
    const { home, compiled } = homeWith(described('Closure', { hasAllElements: true }));
    const { parameters } = toolOf(compiled, 'move');
    for (const to of ['move_to_fully_open', 'open']) await runTool(home, compiled, { action: 'move', params: { to } });
    expect(home.invoked.map(({ fields }) => fields.position)).toEqual(['MoveToFullyOpen', 'MoveToFullyOpen']);
    const refused = validator.check(parameters, { to: 'ajar' });
    expect(refused.isValid ? [] : refused.problems.map(({ message, allowed }) => `${message} ${allowed}`)).toEqual([
      expect.stringMatching(/"closed", "open"/),
    ]);
    expect(JSON.stringify(refused)).not.toContain('move_to_fully_open');
  });
});
