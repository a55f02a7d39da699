import { expect, test } from 'vitest';
import { htmlScraperTool } from '../../../src/connectors/web/html-scraper.ts';
import { textTools } from '../../../src/connectors/web/text-tools.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { ConcurrencyLimiter } from '../../../src/core/concurrency-limiter.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { makePipeline, owner } from '../../calls/pipeline-fixture.ts';

const page = async () => ({
  status: 200,
  url: 'https://a.example/',
  headers: new Headers({ 'content-type': 'text/html' }),
  body: new TextEncoder().encode('<p>x'),
});
const CALLS: readonly (readonly [string, JsonObject, JsonObject])[] = [
  ['html_scraper', { url: 'https://a.example/', selectors: ['p'] }, { items: [{ tag: 'p' }] }],
  ['text_search', { pattern: 'x', text: 'x' }, { matches: ['x'] }],
];

test.each(CALLS)('%s waits while as many run as the memory of a board allows', async (tool, params, result) => {
  const turns = new ConcurrencyLimiter({ maxRunning: 1 });
  const setup = makePipeline({ clock: systemClock, capabilities: () => ['internet'] });
  for (const one of [htmlScraperTool(page, turns), ...textTools({ files: { read: async () => '' }, roots: {} }, turns)])
    setup.registry.register(one);
  const call = (timeoutMs: number) => setup.pipeline.call({ principal: owner, tool, params, timeoutMs });
  const before = Promise.withResolvers<void>();
  const running = turns.run(() => before.promise, new AbortController().signal);
  expect(await call(400)).toMatchObject({ error: { code: 'TIMEOUT' } });
  before.resolve();
  await running;
  expect(await call(30_000)).toMatchObject({ result });
});
