import { describe, expect, test } from 'vitest';
import { callText } from '../../src/core/auth/approvals.ts';
import { NOTICE_LANGUAGES } from '../../src/core/notices.ts';
import { NOTICE_TEXTS } from '../../src/notices/texts/all-languages.ts';
import { LOCK_ALARMS } from '../../src/notices/texts/notice-texts.ts';

/** Every text of a language with its name; functions are called with names and times in the order of their parameters. */
function textsOf(value: unknown, name = ''): readonly (readonly [string, string])[] {
  if (typeof value === 'string') return [[name, value]];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => textsOf(inner, name === '' ? key : `${name}.${key}`));
}

const door = { id: 'door', name: 'Front door', area: 'Hall' };
const lamp = { id: 'lamp', name: 'Lamp', parts: 2 };
const effect = (target: string, permission = 'device:control:x') => ({ target, permission, risk: 'dangerous' as const });
const unlock = { tool: 't', title: 'Unlock', params: { device_id: 'door', pin: '[secret]' }, devices: [door, lamp] };

describe.each(NOTICE_LANGUAGES)('the notices in %s', (language) => {
  const texts = NOTICE_TEXTS[language];

  test('have no empty text and no blank at an end', () => {
    for (const [name, words] of textsOf(texts)) expect.soft(words.trim() === words && words !== '', name).toBe(true);
  });

  test('have words for each alarm of a lock', () => {
    for (const alarm of LOCK_ALARMS) expect(texts.lock.text('Door', texts.lock.alarms[alarm]).length).toBeGreaterThan(10);
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
