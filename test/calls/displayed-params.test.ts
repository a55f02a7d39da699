import { expect, test } from 'vitest';
import { displayedParams } from '../../src/calls/call-plan.ts';

test('parameters that people can read are shown as they are', () => {
  const params = { text: 'x'.repeat(60_000), list: [1, null] };
  expect(displayedParams(params)).toBe(params);
});

test('of files the beginning is shown, wherever they stand', () => {
  const params = { to: ['anna'], files: [{ name: 'a.jpg', content: `${'x'.repeat(255)}💧${'y'.repeat(100_000)}` }] };
  const files = [{ name: 'a.jpg', content: `${'x'.repeat(255)}\ufffd… (100257 characters)` }];
  expect(displayedParams(params)).toEqual({ to: ['anna'], files });
});

test('of what is too much even so, the length', () => {
  expect(displayedParams({ list: Array.from({ length: 20_000 }, () => 'abc') })).toEqual({ params_length: 120_010 });
});
