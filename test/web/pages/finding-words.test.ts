import { afterEach, describe, expect, test } from 'vitest';
import { checkAutomation } from '../../../src/automations/check/automation-check.ts';
import { FINDING_CASES } from '../../../src/automations/check/finding.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { type Finding, findingWords, fixWords, timelineWords } from '../../../src/web/pages/finding-words.ts';
import de from '../../../src/web/texts/de.json' with { type: 'json' };
import en from '../../../src/web/texts/en.json' with { type: 'json' };
import { speak } from '../../../src/web/texts/text.ts';
import { automation, daysFromNow, homePorts } from '../../automations/check/home-fixture.ts';
import { makePairs } from '../../automations/check/pair-generator.ts';
import type { MadePair } from '../../automations/check/pair-parts.ts';
import { seededRandom } from '../../seeded-random.ts';

afterEach(() => speak('en', en));

const at = (time: string): JsonObject => ({ type: 'time', at: time });
const lamp = (word: 'on' | 'off') => ({ tool: `matter:hall_lamp_turn_${word}` });
const time = (after: string, before: string) => ({ type: 'time', after, before });

async function findingsOf({ living, candidate, rules }: MadePair): Promise<readonly Finding[]> {
  const [other, own] = [living, candidate].map(({ config, permissions, endsInDays }, index) =>
    automation(index === 0 ? 'living' : 'candidate', config, {
      ...(permissions && { permissions }),
      ...(endsInDays !== undefined && { endsAtMs: daysFromNow(endsInDays) }),
    }),
  );
  if (!other || !own) throw new Error('A pair has two automations');
  return await checkAutomation(own, [other], homePorts(rules));
}

/** Findings that the made pairs have only by chance. */
async function rareFindings(): Promise<readonly Finding[]> {
  const hidden = {
    ...automation('secret', { trigger: at('22:00'), actions: [lamp('on')] }),
    name: 'an automation that you may not see',
    isHidden: true,
  } as const;
  const choice = { type: 'choose', options: [{ conditions: [time('10:00', '11:00')], actions: [lamp('off')] }] };
  const configs: readonly JsonObject[] = [
    { trigger: at('22:00'), actions: [lamp('on'), lamp('off')] },
    { trigger: at('22:00'), conditions: [time('10:00', '11:00'), time('12:00', '13:00')], actions: [lamp('on')] },
    { trigger: at('22:00'), conditions: [time('10:00', '11:00')], actions: [lamp('on')] },
    { trigger: at('22:00'), actions: [choice] },
    { trigger: { type: 'device_event', device_id: 'gone', event: 'Press' }, actions: [lamp('on')] },
    { trigger: { type: 'reading', sensor_id: 'gone/temperature', above: 1 }, actions: [lamp('on')] },
    { trigger: at('23:00'), actions: [{ type: 'ask', name: 'bath', question: 'Warm?', timeout_seconds: 600 }] },
  ];
  const rules = 'rules:\n  - { name: no lamps, effect: deny, when: { device: hall-lamp } }\n';
  const [alone, shared, ruled] = await Promise.all([
    Promise.all(configs.map((config) => checkAutomation(automation('new', config), [], homePorts()))),
    checkAutomation(automation('new', { trigger: at('22:00'), actions: [lamp('off')] }), [hidden], homePorts()),
    checkAutomation(automation('new', { trigger: at('22:00'), actions: [lamp('off')] }), [], homePorts(rules)),
  ]);
  return [...alone.flat(), ...shared, ...ruled];
}

describe('what may go wrong', () => {
  test('is said by the page in both languages, whatever the hub finds', async () => {
    const made = await Promise.all(makePairs(200, seededRandom(20261128)).map(findingsOf));
    const findings = [...made.flat(), ...(await rareFindings())];
    for (const finding of findings) {
      const said = [en, de].map((table, index) => {
        speak(index === 0 ? 'en' : 'de', table);
        const lines = finding.timeline.map((entry) => timelineWords(entry, []));
        return { sentence: findingWords(finding, []), fix: fixWords(finding), lines: lines.join('\n') };
      });
      const [english, german] = said;
      expect(JSON.stringify(said), finding.sentence).not.toMatch(/\{\w+\}|undefined|null|NaN/);
      expect(english?.sentence).not.toBe(finding.sentence);
      expect(german?.sentence, finding.sentence).not.toBe(english?.sentence);
      expect(german?.fix).not.toBe(english?.fix);
      for (const { name } of finding.automations) for (const one of said) expect(one.sentence).toContain(name);
      if (typeof finding.facts.device === 'string') for (const one of said) expect(one.sentence).toContain(finding.facts.device);
    }
    expect([...new Set(findings.map(({ facts }) => String(facts.case)))].toSorted()).toEqual([...FINDING_CASES].toSorted());
  });

  test('names what each automation wants, and when', async () => {
    const one = automation('old', { trigger: at('22:00'), actions: [lamp('on')] });
    const [finding] = await checkAutomation(automation('new', { trigger: at('22:00'), actions: [lamp('off')] }), [one], homePorts());
    if (!finding) throw new Error('Nothing was found');
    expect(findingWords(finding, [])).toBe('“new” and “old” want different things of hall lamp: off and on (every day at 22:00).');
    speak('de', de);
    expect(findingWords(finding, [])).toBe('„new“ und „old“ wollen von hall lamp Verschiedenes: aus und an (täglich um 22:00).');
    expect(timelineWords(finding.timeline[0] ?? { agent_id: '', does: '', windows: [] }, [])).toMatch(/ausschalten.*, täglich um 22:00$/);
  });

  test('is said in the words of the hub if the page does not know it', () => {
    const finding: Finding = {
      kind: 'new_kind',
      severity: 'note',
      automations: [],
      timeline: [],
      sentence: 'Words of the hub',
      fix: 'Do this',
      facts: { case: 'new_case' },
    };
    expect(findingWords(finding, [])).toBe('Words of the hub');
    expect(fixWords(finding)).toBe('Do this');
  });
});
