import { describe, expect, test } from 'vitest';
import { callText } from '../../src/core/auth/approvals.ts';
import { NOTICE_LANGUAGES } from '../../src/core/notices.ts';
import { NOTICE_TEXTS } from '../../src/notices/texts/all-languages.ts';
import { LOCK_ALARMS, type NoticeTexts } from '../../src/notices/texts/notice-texts.ts';

const DAY = new Date(2026, 4, 2, 0, 5).getTime();
const REQUEST = { agent: 'claude', call: 'Unlock Front door', count: 1, untilMs: DAY, nowMs: DAY };
const HOUR_MS = 3_600_000;

/** Sample arguments of the functions among the texts, by their names. A name without its last word stands for all functions under it. */
const SAMPLES: Readonly<Record<string, readonly (readonly unknown[])[]>> = {
  'call.action': [
    ['Turn on', 'Lamp'],
    ['Sing', 'Lamp'],
  ],
  'call.read': [['lock state', 'Door']],
  'call.parts': [
    ['Lamp', ['1']],
    ['Lamp', ['1', '2']],
  ],
  'call.pathOf': [['settings', 'Door']],
  'call.counted': [
    [1, 'devices', undefined],
    [3, 'things', 2],
  ],
  'call.andMore': [
    ['Lamp', 1],
    ['Lamp', 2],
  ],
  'call.runs': [['backup.sh']],
  'call.inSteps': [[1], [2]],
  'call.call': [
    ['Leave home', { work: '', does: 'Lock Door', touches: '' }],
    ['Leave home', { work: ', in 2 steps', does: '', touches: 'Door' }],
  ],
  'call.byTool': [['Leave home', 'run_scene', '']],
  'approval.text': [[REQUEST], [{ ...REQUEST, hub: 'Cabin', count: 2, nowMs: DAY - 24 * HOUR_MS }]],
  'leak.text': [['Door']],
  'question.title': [['Bath']],
  'question.text': [
    [{ text: 'Warm the bath?', answers: ['yes', 'no'], untilMs: DAY, nowMs: DAY }],
    [{ text: 'Warm the bath?', answers: ['warm', 'hot'], untilMs: 2 * DAY, nowMs: DAY }],
  ],
  'message.title': [['Bath']],
  'smoke.text': [['Door']],
  'carbonMonoxide.text': [['Door']],
  'battery.text': [['Door']],
  'lock.alarms': [['Door']],
  'lock.text': [['Door is jammed']],
  'lost.text': [
    ['Door', HOUR_MS],
    ['Door', 47 * HOUR_MS],
    ['Door', 72 * HOUR_MS],
  ],
  'agents.named': [['claude']],
  'agents.stopped': [['claude', 'its time is over']],
  'agents.failed': [
    ['claude', 'Lamp did not answer', true],
    ['claude', 'Lamp did not answer', false],
  ],
  'agents.ending': [['claude', DAY]],
  'proposal.text': [['claude', '"Cool evening"']],
  'token.text': [['claude', DAY]],
  'certificate.text': [[DAY]],
  'certificate.notRenewed.text': [['The certificate could not be renewed']],
  'backup.text': [['The last backup is 9 days old.']],
  'update.text': [['Lamp', '1.2']],
  'update.hub': [['1.2']],
  'update.notKept.text': [
    ['1.2', true],
    ['1.2', false],
  ],
  'disk.text': [[120]],
  'tool.text': [['claude', 'Unlock', DAY]],
};

type Saying = string | ((...values: readonly unknown[]) => unknown);

/** Every text and every function of a language, with its name. */
function entriesOf(value: unknown, name = ''): readonly (readonly [string, Saying])[] {
  if (typeof value === 'string' || typeof value === 'function') return [[name, value as Saying]];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => entriesOf(inner, name === '' ? key : `${name}.${key}`));
}

/** Every text of a language with its name, and what each function returns for its samples. */
function textsOf(value: unknown): readonly (readonly [string, unknown])[] {
  return entriesOf(value).flatMap(([name, entry]) => {
    if (typeof entry === 'string') return [[name, entry] as const];
    const samples = SAMPLES[name] ?? SAMPLES[name.slice(0, name.lastIndexOf('.'))];
    if (!samples) throw new Error(`SAMPLES has no arguments for ${name}`);
    return samples.map((sample) => [name, entry(...sample)] as const);
  });
}

const door = { id: 'door', name: 'Front door', area: 'Hall' };
const lamp = { id: 'lamp', name: 'Lamp', parts: 2 };
const effect = (target: string, permission = 'device:control:x') => ({ target, permission, risk: 'dangerous' as const });
const unlock = { tool: 't', title: 'Unlock', params: { device_id: 'door', pin: '[secret]' }, devices: [door, lamp] };

describe.each(NOTICE_LANGUAGES)('the notices in %s', (language) => {
  const texts = NOTICE_TEXTS[language];

  test('have no empty text, no blank at an end, and no place that nothing fills', () => {
    for (const [name, words] of textsOf(texts)) {
      expect.soft(words, name).toEqual(expect.stringMatching(name.startsWith('call.') ? /\S$/ : /^\S(.*\S)?$/s));
      expect.soft(words, name).not.toMatch(/undefined|\[object|NaN|Invalid Date/);
    }
  });

  test('have the same functions as the English ones', () => {
    const functionsOf = (of: NoticeTexts) => entriesOf(of).flatMap(([name, entry]) => (typeof entry === 'function' ? [name] : []));
    expect(functionsOf(texts)).toEqual(functionsOf(NOTICE_TEXTS.en));
  });

  test('name the lock in words of their own for each of its alarms', () => {
    const said = LOCK_ALARMS.map((alarm) => texts.lock.text(texts.lock.alarms[alarm]('Door')));
    expect(said.filter((words) => words.includes('Door'))).toEqual([...new Set(said)]);
  });
});

test('a request for approval is told in German with everything that the English one tells', () => {
  const [untilMs, nowMs] = [new Date(2026, 4, 2, 0, 5).getTime(), new Date(2026, 4, 1, 23, 55).getTime()];
  const call = callText({ ...unlock, effects: [effect('door/1/DoorLock/UnlockDoor')] }, NOTICE_TEXTS.de.call);
  expect(NOTICE_TEXTS.de.approval.text({ agent: 'claude', call, count: 3, untilMs, nowMs })).toBe(
    'claude möchte: Aufschließen: Front door (Hall) (pin: [secret]) (3 solche Anfragen warten). Entscheide bis 00:05 Uhr am 2. Mai 2026.',
  );
});

test.each([
  ['Aufschließen: Front door (Hall); Ausschalten: Lamp, Teil 2', [effect('door/1/DoorLock/UnlockDoor'), effect('lamp/2/OnOff/Off')]],
  ['lock state lesen: Front door (Hall)', [effect('door/1/DoorLock/LockState', 'device:read:door')]],
  ['betrifft settings von Front door (Hall)', [effect('door/settings')]],
])('what a call does is told in German: %s', (words, effects) => {
  expect(callText({ ...unlock, title: 'Leave home', effects }, NOTICE_TEXTS.de.call)).toContain(words);
});
