import { afterEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { mistakeWords, namedMistakeWords } from '../../../src/web/pages/mistake-words.ts';
import de from '../../../src/web/texts/de.json' with { type: 'json' };
import en from '../../../src/web/texts/en.json' with { type: 'json' };
import { speak } from '../../../src/web/texts/text.ts';
import { ENOUGH, resultOf, SENSOR, startedFixture } from '../../automations/agent-fixture.ts';

afterEach(() => speak('en', en));

const LAMP = { tool: 'matter:lamp_turn_on' };
const every = (seconds: unknown) => ({ trigger: [{ type: 'every', seconds }], actions: [LAMP] });
const step = (action: JsonObject) => ({ trigger: [{ type: 'time', at: '07:00' }], actions: [action] });
const trigger = (one: JsonObject) => ({ trigger: [one], actions: [LAMP] });

describe('a mistake that the hub finds', () => {
  test.each([
    [every(0), 'Zu klein. Von 10 Sekunden bis 24 Stunden.'],
    [every(1e9), 'Zu groß. Von 10 Sekunden bis 24 Stunden.'],
    [every('often'), 'Ein Wert anderer Art ist nötig.'],
    [trigger({ type: 'time', at: '25:00' }), 'Das hat nicht die nötige Form.'],
    [trigger({ type: 'time', at: '07:00', moon: 1 }), 'Das ist nicht bekannt.'],
    [trigger({ type: 'sun', event: 'noon' }), 'Das lässt sich hier nicht wählen.'],
    [
      trigger({ type: 'reading', sensor_id: 'cellar/t', above: 1 }),
      'Den Sensor cellar/t gibt es nicht, oder er darf nicht gesehen werden.',
    ],
    [trigger({ type: 'reading', sensor_id: SENSOR, above: null }), 'Ein Wert anderer Art ist nötig.'],
    [
      trigger({ type: 'reachability', device_id: 'gone', becomes: 'reachable' }),
      'Das Gerät gone gibt es nicht, oder es darf nicht gesehen werden.',
    ],
    [step({ tool: 'matter:lamp_turn_onn' }), 'Das Werkzeug matter:lamp_turn_onn gibt es nicht.'],
    [step({ type: 'ask', name: 'a', question: 'Why?', answers: ['b'], timeout_seconds: 60 }), 'Mindestens 2 sind nötig.'],
    [step({ type: 'notify', message: 'a'.repeat(501) }), 'Höchstens 500 Zeichen sind möglich.'],
    [{ trigger: [{ type: 'time', at: '07:00' }], actions: [] }, 'Mindestens eines ist nötig.'],
  ] as readonly [JsonObject, string][])('is said in the language of the page: %j', async (config, words) => {
    const fixture = await startedFixture();
    const { problems } = resultOf(await fixture.call('hub:convert_automation', { config, permissions: [...ENOUGH] }));
    const [problem] = problems as unknown as readonly { readonly pointer: string; readonly message: string }[];
    if (!problem) throw new Error('The hub found no mistake');
    expect(mistakeWords(problem)).not.toBe(problem.message);
    speak('de', de);
    expect(mistakeWords(problem)).toBe(words);
  });

  test('has the name of its member where only its line is known', () => {
    speak('de', de);
    const problem = { pointer: '/conditions/0/days/1', message: 'Parameter "conditions.0.days.1" is not one of the allowed values' };
    expect(namedMistakeWords(problem)).toBe('days: Das lässt sich hier nicht wählen.');
  });

  test('is said in the words of the hub if the page does not know it', () => {
    const problem = { pointer: '/trigger', message: 'Tabs are not allowed' };
    expect([mistakeWords(problem), namedMistakeWords(problem)]).toEqual([problem.message, problem.message]);
  });
});
