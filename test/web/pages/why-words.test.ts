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
      /^It did not run at .* because it was not so that Kitchen light is below 50 lx \(it was 61 lx\)\.$/,
    );
    speak('de', de);
    expect(whyWords(one, NAMES)).toMatch(
      /^Sie lief um .* nicht, weil nicht zutraf, dass Kitchen light unter 50 lx liegt \(es war 61 lx\)\.$/,
    );
  });

  test('says of a negated condition that it held, and of an unknown one that it was not known', () => {
    const held = moment('did_not_run', 'condition_false', { conditions: [unmet({ isNegated: true })] });
    expect(whyWords(held, NAMES)).toMatch(/because it was so that Kitchen light is below 50 lx\.$/);
    const unknown = moment('did_not_run', 'condition_unknown', { conditions: [unmet({ isUnknown: true })] });
    expect(whyWords(unknown, NAMES)).toMatch(/because it was not known whether Kitchen light is below 50 lx\.$/);
  });

  test('says what the sensor of a trigger showed and what it waits for', () => {
    const missed = moment('not_triggered', 'not_reached', { trigger: TRIGGER, facts: { value: 61, unit: 'lx' } });
    expect(whyWords(missed, NAMES)).toMatch(
      /^It was not set off at .* because Kitchen light showed 61 lx; it waits for this: Kitchen light falls below 50 lx\.$/,
    );
  });

  test('says how often it happened, and which step failed', () => {
    const cooldown = moment('did_not_run', 'cooldown', { count: 3, last_at: '2026-05-03T18:09:00.000Z', facts: { cooldown_seconds: 600 } });
    expect(whyWords(cooldown, NAMES)).toMatch(
      /^It did not run 3 times from .* to .*, the last time because it had run shortly before: 600 s/,
    );
    const failed = moment('ran', 'step_failed', { facts: { tool: 'matter:lamp_turn_on', message: 'no answer' } });
    expect(whyWords(failed, NAMES)).toMatch(/^It ran at .* and stopped because “lamp turn on” failed \(no answer\)\.$/);
    expect(whyWords(moment('ran', 'done'), NAMES)).toMatch(/^It ran at .*: all its steps were done\.$/);
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
