import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { makeHttpApi } from '../../http/http-fixture.ts';
import { atmo, fetchFrom } from '../cli-fixture.ts';

function makeHub() {
  const setup = makeHttpApi();
  const asked: [string, JsonObject][] = [];
  for (const name of ['clock_status', 'set_clock'])
    setup.addTool({
      name,
      namespace: 'hub',
      parameters: { type: 'object' },
      handler: async (params) => {
        asked.push([name, params]);
        return { now: '2026-05-01T16:30:00.000Z', trusted: asked.some(([tool]) => tool === 'set_clock'), source: 'owner' };
      },
    });
  return { asked, run: (argv: readonly string[]) => atmo(argv, { fetch: fetchFrom(setup.httpApi) }) };
}

test('atmo clock prints the time and whether it is trusted, atmo clock set sets it', async () => {
  const { run, asked } = makeHub();
  expect((await run(['clock'])).out).toContain('the hub does not trust this time');
  expect((await run(['clock', 'set', '2026-05-01T18:30:00+02:00'])).out).toBe(
    '2026-05-01T16:30:00.000Z\nthe hub trusts this time: you set it\n',
  );
  expect(asked).toEqual([
    ['clock_status', {}],
    ['set_clock', { time: '2026-05-01T18:30:00+02:00' }],
  ]);
  expect((await run(['clock', 'set'])).code).toBe(2);
});
