import { afterEach, describe, expect, test } from 'vitest';
import { checkAutomation } from '../../../src/automations/check/automation-check.ts';
import { FINDING_CASES } from '../../../src/automations/check/finding.ts';
import { type JsonObject, objectOf, objectsOf } from '../../../src/core/json.ts';
import { type Finding, findingWords, fixWords, timelineWords } from '../../../src/web/pages/finding-words.ts';
import de from '../../../src/web/texts/de.json' with { type: 'json' };
import en from '../../../src/web/texts/en.json' with { type: 'json' };
import { speak } from '../../../src/web/texts/text.ts';
import { automation, daysFromNow, homePorts } from '../../automations/check/home-fixture.ts';
import { ROOMS } from '../../automations/check/home-plan.ts';
import { makePairs } from '../../automations/check/pair-generator.ts';
import type { MadePair } from '../../automations/check/pair-parts.ts';
import { seededRandom } from '../../seeded-random.ts';

afterEach(() => speak('en', en));

const at = (time: string): JsonObject => ({ type: 'time', at: time });
const lamp = (word: 'on' | 'off') => ({ tool: `matter:hall_lamp_turn_${word}` });
const time = (after: string, before: string) => ({ type: 'time', after, before });

/** An automation that may not look at anything, and what it would look at. */
const CURIOUS: JsonObject = {
  trigger: [
    { type: 'reading', sensor_id: 'hall-sensor/illuminance', above: 10 },
    { type: 'device_event', device_id: 'hall-button', event: 'LongPress' },
    { type: 'sun', event: 'sunset' },
    { type: 'scene', scene_id: 'evening' },
    { type: 'decision', decision: 'approved' },
    { type: 'automation_ended', agent_id: 'kitchen' },
    { type: 'presence', becomes: 'home' },
  ],
  conditions: [{ type: 'flag', flag: 'party' }],
  actions: [lamp('on'), { tool: 'matter:hall_bath_turn_on' }],
};
const CLASHES: readonly (readonly JsonObject[])[] = [
  [true, false].map((is) => ({ type: 'flag', flag: 'party', is })),
  ['reachable', 'unreachable'].map((is) => ({ type: 'reachability', device_id: 'hall-lamp', is })),
  ['home', 'away'].map((is) => ({ type: 'presence', is })),
  ['home', 'away'].map((is) => ({ type: 'presence', person: 'ann', is })),
];

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
  const clashes = CLASHES.map((conditions) => ({ trigger: at('22:00'), conditions: [...conditions], actions: [lamp('on')] }));
  const choice = { type: 'choose', options: [{ conditions: [time('10:00', '11:00')], actions: [lamp('off')] }] };
  const configs: readonly JsonObject[] = [
    ...clashes,
    { trigger: at('22:00'), actions: [lamp('on'), lamp('off')] },
    { trigger: at('22:00'), conditions: [time('10:00', '11:00'), time('12:00', '13:00')], actions: [lamp('on')] },
    { trigger: at('22:00'), conditions: [time('10:00', '11:00')], actions: [lamp('on')] },
    { trigger: at('22:00'), actions: [choice] },
    { trigger: { type: 'device_event', device_id: 'gone', event: 'Press' }, actions: [lamp('on')] },
    { trigger: { type: 'reading', sensor_id: 'gone/temperature', above: 1 }, actions: [lamp('on')] },
    { trigger: at('23:00'), actions: [{ type: 'ask', name: 'bath', question: 'Warm?', timeout_seconds: 600 }] },
  ];
  const rules = 'rules:\n  - { name: no lamps, effect: deny, when: { device: hall-lamp } }\n';
  const [blind, alone, shared, ruled] = await Promise.all([
    checkAutomation(automation('new', CURIOUS, { permissions: ['device:read:hall-lamp'] }), [], homePorts()),
    Promise.all(configs.map((config) => checkAutomation(automation('new', config), [], homePorts()))),
    checkAutomation(automation('new', { trigger: at('22:00'), actions: [lamp('off')] }), [hidden], homePorts()),
    checkAutomation(automation('new', { trigger: at('22:00'), actions: [lamp('off')] }), [], homePorts(rules)),
  ]);
  return [...blind, ...alone.flat(), ...shared, ...ruled];
}

const wordsIn = (text: string): readonly string[] => text.toLowerCase().match(/\p{L}+/gu) ?? [];

const textsIn = (table: unknown): readonly string[] =>
  typeof table === 'string' ? [table.replace(/\{\w+\}/g, '')] : Object.values(table as object).flatMap(textsIn);

/** The words of the German page. */
const GERMAN = new Set(textsIn(de).flatMap(wordsIn));
/** Names that no page translates: of automations, a person, things of the home, Matter events, and values that automations wait for. */
const NAMES = new Set(
  wordsIn(`new old secret living candidate, ann party evening night, ${ROOMS} cellar upstairs front door lamp plug cover heating sensor button,
    InitialPress LongPress DoublePress, asleep motion occupied unoccupied`),
);
const WEEKDAYS = new Set(['mo', 'di', 'mi', 'do', 'fr', 'sa', 'so']);

/** Returns the names that a finding has of rules, sensors and tools. */
function namesOf({ facts }: Finding): readonly string[] {
  const { rule, sensor, id, tool = '', about, ways, reasons } = facts;
  const inner = [...objectsOf(ways).map(({ changes }) => changes), ...objectsOf(reasons).map((reason) => reason.rule)];
  const names = [rule, sensor, id, objectOf(about).name, ...inner].filter((name) => typeof name === 'string');
  return [...names, String(tool).replace(/^\w+:/, '').replaceAll('_', ' ')].toSorted((a, b) => b.length - a.length);
}

/** Returns the words in a German text that are neither German nor a name. */
function foreignWords(text: string, finding: Finding): readonly string[] {
  const rest = namesOf(finding).reduce((left, name) => (name === '' ? left : left.replaceAll(name, '')), text);
  return wordsIn(rest).filter((word) => !GERMAN.has(word) && !NAMES.has(word) && !WEEKDAYS.has(word));
}

describe('what may go wrong', () => {
  test('is said by the page in both languages, whatever the hub finds', async () => {
    const made = await Promise.all(makePairs(200, seededRandom(20261128)).map(findingsOf));
    const findings = [...made.flat(), ...(await rareFindings())];
    const foreign = new Set<string>();
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
      for (const word of foreignWords(`${german?.sentence} ${german?.fix} ${german?.lines}`, finding))
        foreign.add(`${word}: ${german?.sentence}`);
      for (const { name } of finding.automations) for (const one of said) expect(one.sentence).toContain(name);
      if (typeof finding.facts.device === 'string') for (const one of said) expect(one.sentence).toContain(finding.facts.device);
    }
    expect([...foreign]).toEqual([]);
    expect([...new Set(findings.map(({ facts }) => String(facts.case)))].toSorted()).toEqual([...FINDING_CASES].toSorted());
  });

  test('names whose value would have to be two at once, and the permissions that are missing', async () => {
    const said = (await rareFindings()).map((finding) => findingWords(finding, []));
    for (const words of [
      'lacks a permission for what it looks at: see where hub is.',
      'lacks a permission for the step “hall lamp turn on”: control hall-lamp.',
      'never runs: the mode party would need two values at once that exclude each other.',
      'never runs: whether hall lamp is reachable would need two values at once that exclude each other.',
      'never runs: whether somebody is at home would need two values at once that exclude each other.',
      'never runs: whether ann is at home would need two values at once that exclude each other.',
    ])
      expect(said).toContain(`“new” ${words}`);
    // One automation looks at the presence, and two have two conditions about it: a permission is missing once.
    expect(said.filter((words) => words.includes('see who is at home'))).toHaveLength(3);
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
