import { describe, expect, test } from 'vitest';
import { AGENT_TOKEN, ask, makeHttpApi } from '../http-fixture.ts';

const PATH = '/api/v1/tool-calls';

function makeLamp() {
  const setup = makeHttpApi();
  const calls: unknown[] = [];
  setup.addTool({
    name: 'dim',
    namespace: 'matter',
    parameters: {
      type: 'object',
      required: ['level'],
      properties: { level: { type: 'integer', minimum: 0, maximum: 100, description: 'Percent' } },
      additionalProperties: false,
    },
    handler: async ({ level = 0 }) => {
      calls.push(level);
      return { level };
    },
  });
  setup.addTool({ name: 'unlock', requires: { permissions: ['device:control:door'] } });
  return { ...setup, calls };
}

const openAi = (id: string, args: unknown, name = 'matter_dim') => ({ id, type: 'function', function: { name, arguments: args } });

describe('POST /api/v1/tool-calls', () => {
  test.each([['{"level":40}'], [{ level: 40 }]])('takes OpenAI arguments as %j', async (args) => {
    const { httpApi } = makeLamp();
    const answer = await ask(httpApi, PATH, { body: openAi('call_1', args, 'matter:dim') });
    expect([answer.status, answer.json]).toEqual([
      200,
      { role: 'tool', tool_call_id: 'call_1', success: true, output: { level: 40 }, content: '{"level":40}', is_error: false },
    ]);
  });

  test('takes what a model in strict mode says: null for what it leaves out', async () => {
    const { httpApi, addTool } = makeLamp();
    const properties = { level: { type: 'integer', default: 7, description: 'Level' }, note: { type: 'string', description: 'Note' } };
    addTool({ name: 'glow', parameters: { type: 'object', properties }, handler: async (params) => params });
    const { json } = await ask(httpApi, PATH, { body: openAi('call_1', '{"level":null,"note":null}', 'glow') });
    expect(json).toMatchObject({ success: true, output: { level: 7 } });
    // A tool that is not there, or a value that has to be, is refused as ever.
    expect((await ask(httpApi, PATH, { body: openAi('a', '{"level":null}', 'matter:dim') })).json.error).toContain('VALIDATION_ERROR');
    expect((await ask(httpApi, PATH, { body: openAi('a', '{"level":null}', 'nothing') })).json.error).toContain('TOOL_NOT_FOUND');
  });

  test("takes Anthropic's blocks and answers with their results", async () => {
    const { httpApi } = makeLamp();
    const { json } = await ask(httpApi, PATH, { body: { type: 'tool_use', id: 'toolu_1', name: 'dim', input: { level: 7 } } });
    expect(json).toMatchObject({
      type: 'tool_result',
      tool_use_id: 'toolu_1',
      tool_call_id: 'toolu_1',
      content: '{"level":7}',
      is_error: false,
    });
  });

  test('arguments that are no JSON, no parameters or for no tool are results with the id of the call', async () => {
    const { httpApi, calls } = makeLamp();
    const body = [
      openAi('a', '{"level":', 'dim'),
      openAi('b', { level: 400 }, 'dim'),
      openAi('c', {}, 'no_such'),
      openAi('d', '', 'unlock'),
    ];
    const { status, json } = await ask(httpApi, PATH, { body, token: AGENT_TOKEN });
    expect(status).toBe(200);
    const seen = json.map((result: Record<string, string>) => [
      result.tool_call_id,
      result.is_error,
      JSON.parse(result.content ?? '').error.code,
    ]);
    expect(seen).toEqual([
      ['a', true, 'VALIDATION_ERROR'],
      ['b', true, 'VALIDATION_ERROR'],
      ['c', true, 'TOOL_NOT_FOUND'],
      ['d', true, 'TOOL_NOT_FOUND'],
    ]);
    expect(calls).toEqual([]);
  });

  test('a list is called in its order', async () => {
    const { httpApi, calls } = makeLamp();
    const { json } = await ask(httpApi, PATH, { body: [3, 1, 2].map((level) => openAi(`c${level}`, { level }, 'dim')) });
    expect(calls).toEqual([3, 1, 2]);
    expect(json.map((result: { output: { level: number } }) => result.output.level)).toEqual([3, 1, 2]);
  });

  test.each([
    [{}],
    [[{}]],
    ['[1]'],
    [{ id: '', function: { name: 'dim' } }],
    [{ id: 'x'.repeat(129), function: { name: 'dim' } }],
    [{ id: 'a', type: 'tool_use' }],
    [{ id: 'a', function: 'dim' }],
    [[openAi('ok', { level: 1 }, 'dim'), { id: 'a' }]],
    [Array.from({ length: 17 }, (_, index) => openAi(`c${index}`, { level: 1 }, 'dim'))],
  ])('what is no call is refused before anything runs: %j', async (body) => {
    const { httpApi, calls } = makeLamp();
    const answer = await ask(httpApi, PATH, { body });
    expect([answer.status, answer.json.code, calls]).toEqual([400, 'VALIDATION_ERROR', []]);
  });

  test('an idempotency key counts for each call of a list by itself', async () => {
    const { httpApi, calls } = makeLamp();
    const body = [1, 2].map((level) => openAi(`c${level}`, { level }, 'dim'));
    const send = () => ask(httpApi, PATH, { body, headers: { 'idempotency-key': 'k' } });
    const [first, second] = [await send(), await send()];
    expect(second.json).toEqual(first.json);
    expect(calls).toEqual([1, 2]);
  });

  test('the journal has the id of the call', async () => {
    const { httpApi, audited } = makeLamp();
    await ask(httpApi, PATH, { body: openAi('call_9', { level: 1 }, 'dim') });
    expect(audited.map(({ requestId }) => requestId)).toEqual(['call_9', 'call_9']);
  });

  test('other routes take no list', async () => {
    const { httpApi } = makeLamp();
    expect((await ask(httpApi, '/api/v1/tools/dim/invoke', { body: '[{"level":1}]' })).status).toBe(400);
  });
});
