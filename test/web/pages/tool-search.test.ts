import { nothing } from 'lit';
import { expect, test } from 'vitest';
import { agentMadeChip } from '../../../src/web/pages/agent-made.ts';
import { confidencePercent, isRegistered, type MatchView, toolQueryOf, toolsPath } from '../../../src/web/pages/tool-search.ts';

test('a query with words is a search, without words a page of the registry', () => {
  expect(toolsPath(toolQueryOf({ q: 'make it bright & warm' }))).toBe('/api/v1/tools?q=make+it+bright+%26+warm&limit=20');
  expect(toolsPath(toolQueryOf({}))).toBe('/api/v1/tools?limit=50');
  expect(toolsPath(toolQueryOf({}), '50')).toBe('/api/v1/tools?limit=50&cursor=50');
});

test('a list is filtered by origin, category and room', () => {
  const question = toolQueryOf({ origin: 'agent', category: 'acting', area: 'Living room' });
  expect(toolsPath(question)).toBe('/api/v1/tools?created_by=agent&category=acting&area=Living+room&limit=50');
});

test('only tools that were registered at run time can be removed', () => {
  const tool = (id: string, by: string) => ({ id, metadata: { created_by: by } }) as unknown as MatchView;
  expect(isRegistered(tool('agent:good_night@1.0.0', 'agent'))).toBe(true);
  expect(isRegistered(tool('custom:good_night@1.0.0', 'system'))).toBe(true);
  expect(isRegistered(tool('matter:lamp_turn_on@1.0.0', 'system'))).toBe(false);
});

test('a tool that an agent made is marked, and no other', () => {
  expect(agentMadeChip({ metadata: { created_by: 'agent' } })).toMatchObject({ values: [expect.anything(), 'made by an agent'] });
  for (const metadata of [{ created_by: 'system' }, {}]) expect(agentMadeChip({ metadata })).toBe(nothing);
  expect(agentMadeChip({})).toBe(nothing);
});

test('the percentage of a match is its confidence', () => {
  const match = (confidence?: number) => ({ id: 'a', ...(confidence !== undefined && { confidence }) }) as MatchView;
  expect(confidencePercent(match(0.934))).toBe(93);
  expect(confidencePercent(match())).toBe(0);
});
