import { expect, test } from 'vitest';
import type { Moment } from '../../../src/automations/traces/explain.ts';
import type { MomentView } from '../../../src/automations/traces/trace-view.ts';
import { sentenceOf, sentenceOfAll } from '../../../src/automations/traces/trace-words.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { ManualClock } from '../../manual-clock.ts';

const clock = new ManualClock();
const ports = { clock, timeZone: 'UTC' };
const MINUTE_MS = 60_000;

/** A moment that came `count` times within half an hour of today. */
function view(cause: Moment['cause'], count: number, facts: JsonObject = {}): MomentView {
  const atMs = clock.now();
  const lastMs = atMs + (count > 1 ? 30 * MINUTE_MS : 0);
  return { moment: { cause, atMs, lastMs, count, facts }, trigger: undefined, unmet: [], facts, isHidden: false };
}

test('repeated runs that failed say how often, and what happened the last time', () => {
  const facts = { tool: 'matter:hall_lamp_turn_on', message: 'no answer' };
  expect(sentenceOf(view('step_failed', 5, facts), ports)).toBe(
    'It ran 5 times between 00:00 and 00:30. The last time it stopped because “hall lamp turn on” failed: no answer.',
  );
  expect(sentenceOf(view('step_failed', 1, facts), ports)).toBe(
    'It ran at 00:00 and stopped because “hall lamp turn on” failed: no answer.',
  );
  expect(sentenceOf(view('interrupted', 2), ports)).toBe(
    'It ran 2 times between 00:00 and 00:30. The last time it was cut short because the hub stopped: some of its steps may have been done.',
  );
  expect(sentenceOf(view('done', 2), ports)).toBe('It ran 2 times between 00:00 and 00:30.');
});

test('repeated moments without a run say how often, and why the last time', () => {
  expect(sentenceOf(view('cooldown', 5, { cooldown_seconds: 600 }), ports)).toBe(
    'Between 00:00 and 00:30 it did not run, 5 times; the last time because it had run shortly before, and two runs are at least 10 minutes apart.',
  );
  const missed = { ...view('wrong_day', 3, { day: 'sat' }), trigger: { type: 'time', days: ['mon', 'fri'] } };
  const reason = 'it was Saturday and it runs only on Monday, Friday';
  expect(sentenceOfAll([missed], ports)).toBe(`Between 00:00 and 00:30 it was not set off, 3 times; the last time because ${reason}.`);
});
