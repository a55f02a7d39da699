import { expect, it } from 'vitest';
import type { McpCaller } from '../../src/mcp/mcp-feature.ts';
import { completionFeature } from '../../src/mcp/mcp-features.ts';

const CALLER = {} as McpCaller;

function completing(values: readonly string[]) {
  const resources = [{ values: () => values }] as unknown as Parameters<typeof completionFeature>[0]['resources'];
  const { methods } = completionFeature({ prompts: [], resources });
  return (value: string) =>
    methods['completion/complete']?.({ ref: { type: 'ref/resource', uri: 'atmo://x/{y}' }, argument: { name: 'y', value } }, CALLER);
}

it('what begins with the text comes before what only holds it, each once, letter case aside', async () => {
  const complete = completing(['Hall lamp', 'Desk', 'Lamp', 'Hall lamp', 'lampion']);
  expect(await complete('LA')).toEqual({ completion: { values: ['Lamp', 'lampion', 'Hall lamp'], total: 3, hasMore: false } });
});

it('an answer holds a hundred values, and says that there are more', async () => {
  const complete = completing(Array.from({ length: 101 }, (_, index) => `lamp ${index}`));
  expect(await complete('lamp')).toMatchObject({ completion: { values: { length: 100 }, total: 101, hasMore: true } });
});
