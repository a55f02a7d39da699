import { expect, test } from 'vitest';
import { CachedDocument } from '../../../src/http/routes/description-routes.ts';
import { ask, makeHttpApi } from '../http-fixture.ts';

test('the document is written once for all who ask, and again when tools came or went', async () => {
  let tools: readonly string[] = ['a'];
  let made = 0;
  const kept = new CachedDocument({ tools: () => tools, make: () => ({ made: ++made, tools: tools.length }) });
  for (let asked = 0; asked < 100; asked++) expect(kept.text).toBe('{"made":1,"tools":1}');
  tools = ['a', 'b'];
  expect(kept.text).toBe('{"made":2,"tools":2}');
});

test('the document tells of the schemas that a tool has now', async () => {
  const { httpApi, addTool, registry } = makeHttpApi();
  const bodyOf = async () => (await ask(httpApi, '/openapi.json')).json.paths['/api/v1/clock'].post.requestBody;
  const before = await bodyOf();
  const { parameters } = { parameters: { type: 'object', properties: { utc: { type: 'string', description: 'Only in this test' } } } };
  addTool({ namespace: 'hub', name: 'set_clock', parameters });
  expect(JSON.stringify(before)).not.toContain('Only in this test');
  expect(JSON.stringify(await bodyOf())).toContain('Only in this test');
  expect(registry.has('hub:set_clock')).toBe(true);
});
