import { expect, test } from 'vitest';
import { NOTICE_KIND_NAMES, type NoticeKind, type NoticeRule } from '../../../src/core/notices.ts';
import { kindIcon, kindWords, ruleEffect, ruleScope } from '../../../src/web/pages/notice-words.ts';

const words = (rule: NoticeRule) => `${ruleScope(rule)}: ${ruleEffect(rule)}`;

test('every kind of notices has words and an icon', () => {
  for (const kind of NOTICE_KIND_NAMES) {
    expect(kindWords(kind), kind).not.toBe(kind);
    expect(kindIcon(kind), kind).not.toBe('bell');
  }
});

test('a kind that only a newer hub knows has its name and a bell', () => {
  const kind = 'meteor' as NoticeKind;
  expect([kindWords(kind), kindIcon(kind)]).toEqual(['meteor', 'bell']);
});

test('a rule says what it is about, when, and how the person is told', () => {
  expect(words({ kinds: ['battery', 'update'], ways: ['mail'] })).toBe('Low batteries, Updates: by mail');
  expect(words({ from: '22:00', to: '07:00', ways: [] })).toBe('Everything, 22:00–07:00: not told before 07:00');
  expect(words({ kinds: ['tool'], ways: [] })).toBe('Tools that were used: not told');
  expect(words({ ways: ['push', 'mail'] })).toBe('Everything: by browsers and apps, mail');
});
