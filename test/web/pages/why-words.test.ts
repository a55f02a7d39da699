import { afterEach, describe, expect, test } from 'vitest';
import { TRACE_CAUSES } from '../../../src/automations/traces/trace.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { type MomentView, whyWords } from '../../../src/web/pages/why-words.ts';
import de from '../../../src/web/texts/de.json' with { type: 'json' };
import en from '../../../src/web/texts/en.json' with { type: 'json' };
import { hasText, speak } from '../../../src/web/texts/text.ts';

const NAMES = { device: (id: string) => id, reading: () => ({ title: 'Kitchen light', unit: 'lx' }) };
const AT = '2026-05-03T18:02:00.000Z';
const TRIGGER = { type: 'reading', sensor_id: 'kitchen/illuminance', sensor_name: 'Kitchen light', below: 50 };

function moment(outcome: MomentView['outcome'], cause: string, more: Partial<MomentView> = {}): MomentView {
  return { summary: 'the words of the hub', outcome, cause, at: AT, count: 1, facts: {}, ...more };
}

const unmet = (more: JsonObject) => ({ condition: { type: 'reading', sensor_id: 'kitchen/illuminance', below: 50 }, ...more });

afterEach(() => speak('en', en));

describe('why an automation ran or not', () => {
  test('names the condition with what it saw, in the language of the page', () => {
    const one = moment('did_not_run', 'condition_false', { conditions: [unmet({ seen: { value: 61, unit: 'lx' } })] });
    expect(whyWords(one, NAMES)).toMatch(
      /^It did not run on .* because it was not so that Kitchen light is below 50 lx \(it was 61 lx\)\.$/,
    );
    speak('de', de);
    expect(whyWords(one, NAMES)).toMatch(
      /^Sie lief am .* nicht, weil nicht zutraf, dass Kitchen light unter 50 lx liegt \(es war 61 lx\)\.$/,
    );
  });

  test('says of a negated condition that it held, and of an unknown one that it was not known', () => {
    const held = moment('did_not_run', 'condition_false', { conditions: [unmet({ isNegated: true })] });
    expect(whyWords(held, NAMES)).toMatch(/because it was so that Kitchen light is below 50 lx\.$/);
    const unknown = moment('did_not_run', 'condition_unknown', { conditions: [unmet({ isUnknown: true })] });
    expect(whyWords(unknown, NAMES)).toMatch(/because it was not known whether Kitchen light is below 50 lx\.$/);
    const old = moment('did_not_run', 'condition_unknown', {
      conditions: [unmet({ isUnknown: true, seen: { problem: 'too_old', age_seconds: 900 } })],
    });
    expect(whyWords(old, NAMES)).toMatch(/because it was not known whether Kitchen light is below 50 lx \(the value was 900 s old\)\.$/);
  });

  test.each([
    [[], /because it was not so that somebody is at home \(nobody was at home\)\.$/],
    [['ann', 'ben'], /because it was not so that somebody is at home \(at home: ann, ben\)\.$/],
  ])('says who was at home: %j', (home, words) => {
    const condition = { type: 'presence', is: 'home' };
    expect(whyWords(moment('did_not_run', 'condition_false', { conditions: [{ condition, seen: { home } }] }), NAMES)).toMatch(words);
  });

  test('says whether the hub was stopped or the automation was given up', () => {
    expect(whyWords(moment('ran', 'given_up', { facts: { given_up: 'hub_stopped' } }), NAMES)).toMatch(/because the hub was stopped\.$/);
    expect(whyWords(moment('ran', 'given_up', { facts: { given_up: 'cancelled' } }), NAMES)).toMatch(
      /because it was turned off, changed or ended\.$/,
    );
  });

  test('says what the sensor of a trigger showed and what it waits for', () => {
    const missed = moment('not_triggered', 'not_reached', { trigger: TRIGGER, facts: { value: 61, unit: 'lx' } });
    expect(whyWords(missed, NAMES)).toMatch(
      /^It was not set off on .* because Kitchen light showed 61 lx; it waits for this: Kitchen light falls below 50 lx\.$/,
    );
  });

  test('says how often it happened, and which step failed', () => {
    const cooldown = moment('did_not_run', 'cooldown', { count: 3, last_at: '2026-05-03T18:09:00.000Z', facts: { cooldown_seconds: 600 } });
    expect(whyWords(cooldown, NAMES)).toMatch(
      /^Between .* and .* it did not run, 3 times; the last time because it had run shortly before: 600 s/,
    );
    speak('de', de);
    expect(whyWords(cooldown, NAMES)).toMatch(
      /^Zwischen .* und .* ist sie 3-mal nicht gelaufen, zuletzt, weil sie kurz vorher gelaufen war/,
    );
    speak('en', en);
    const failed = moment('ran', 'step_failed', { facts: { tool: 'matter:lamp_turn_on', message: 'no answer' } });
    expect(whyWords(failed, NAMES)).toMatch(/^It ran on .* and stopped because “lamp turn on” failed \(no answer\)\.$/);
    expect(whyWords(moment('ran', 'done'), NAMES)).toMatch(/^It ran on .*: all its steps were done\.$/);
  });

  test.each([
    ['ran', 'step_failed', /^It ran 5 times between .* and .*\. The last time it stopped because “lamp turn on” failed \(no answer\)\.$/],
    ['ran', 'done', /^It ran 5 times between .* and .*; the last time: all its steps were done\.$/],
    ['not_triggered', 'hub_off', /^Between .* and .* it was not set off, 5 times; the last time because the hub was off/],
  ] as const)('says of several moments in which it %s (%s) how often it was and how the last one ended', (outcome, cause, words) => {
    const facts = { tool: 'matter:lamp_turn_on', message: 'no answer' };
    const several = moment(outcome, cause, { count: 5, last_at: '2026-05-03T18:09:00.000Z', trigger: TRIGGER, facts });
    expect(whyWords(several, NAMES)).toMatch(words);
  });

  test('says only the time of day of what happened today', () => {
    expect(whyWords(moment('ran', 'done', { at: new Date().toISOString() }), NAMES)).toMatch(/^It ran at \d{1,2}:\d{2}/);
  });

  test('uses the words of the hub for what the page does not know or may not see', () => {
    expect(whyWords(moment('did_not_run', 'something_new'), NAMES)).toBe('the words of the hub');
    expect(whyWords(moment('not_triggered', 'nothing_came'), NAMES)).toBe('the words of the hub');
    expect(whyWords(moment('did_not_run', 'condition_false'), NAMES)).toBe('the words of the hub');
  });

  test.each(TRACE_CAUSES.filter((cause) => !cause.startsWith('condition_')))('has words for the cause %s', (cause) => {
    expect(hasText(`why.cause_${cause}`)).toBe(true);
  });
});
