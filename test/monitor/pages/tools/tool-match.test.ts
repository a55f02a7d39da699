import { expect, test } from 'vitest';
import { type MatchView, strengthPercent, toolsPath } from '../../../../src/monitor/pages/tools/tool-match.ts';

test('words are a search, no words the registry page by page', () => {
  expect(toolsPath('make it bright & warm')).toBe('/api/v1/tools?q=make+it+bright+%26+warm&limit=20');
  expect(toolsPath('')).toBe('/api/v1/tools?limit=50');
  expect(toolsPath('', '50')).toBe('/api/v1/tools?limit=50&cursor=50');
});

test('a match is as strong as it is beside the best one', () => {
  const match = (score?: number) => ({ id: 'a', ...(score !== undefined && { score }) }) as unknown as MatchView;
  expect(strengthPercent(match(8), match(8))).toBe(100);
  expect(strengthPercent(match(2), match(8))).toBe(25);
  expect(strengthPercent(match(), undefined)).toBe(0);
});
