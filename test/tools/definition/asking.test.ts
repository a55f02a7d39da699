import { describe, expect, test } from 'vitest';
import type { CallRequest } from '../../../src/calls/request-and-answer.ts';
import type { JsonSchema } from '../../../src/core/json.ts';
import { checkQuestion } from '../../../src/tools/definition/elicitation.ts';
import type { ToolMessage } from '../../../src/tools/definition/notifications.ts';
import type { ToolAnswer, ToolContext } from '../../../src/tools/definition/tool-definition.ts';
import { makePipeline, makeTool, owner, settled } from '../../calls/pipeline-fixture.ts';

const COLOUR: JsonSchema = {
  type: 'object',
  properties: { colour: { type: 'string', enum: ['red', 'blue'], default: 'red' }, times: { type: 'integer', minimum: 1 } },
  required: ['colour'],
};
const MESSAGE = 'Which colour?';

/** A room with a tool that asks for a colour and answers what it heard. */
function makeAsking(input: Partial<Parameters<typeof makeTool>[0]> = {}) {
  const room = makePipeline();
  const handler = async (_params: object, { ask }: ToolContext) => ({ ...(await ask({ message: MESSAGE, schema: COLOUR })) });
  room.registry.register(makeTool({ name: 'paint', handler, ...input }));
  const paint = (extra: Partial<CallRequest> = {}) => room.pipeline.call({ principal: owner, tool: 'paint', params: {}, ...extra });
  return { ...room, paint };
}

describe('a tool that asks', () => {
  test('gets what the person behind the caller answers, without what was not asked', async () => {
    const heard: unknown[] = [];
    const onQuestion: CallRequest['onQuestion'] = async (question) => {
      heard.push(question);
      return { action: 'accept', content: { colour: 'blue', approved: true } };
    };
    expect(await makeAsking().paint({ onQuestion })).toMatchObject({ result: { action: 'accept', content: { colour: 'blue' } } });
    expect(heard).toEqual([{ key: 'answer', message: MESSAGE, schema: COLOUR }]);
  });

  test('hears that the person declined', async () => {
    expect(await makeAsking().paint({ onQuestion: async () => ({ action: 'decline' }) })).toMatchObject({ result: { action: 'decline' } });
  });

  test.each([{ colour: 'green' }, { colour: 'red', times: 0 }, {}])('is not given an answer that does not fit: %j', async (content) => {
    const answer = await makeAsking().paint({ onQuestion: async () => ({ action: 'accept', content }) });
    expect(answer).toMatchObject({ error: { code: 'VALIDATION_ERROR', message: expect.stringContaining('does not fit') } });
  });

  test('is told by NOT_SUPPORTED what to do where nobody can be asked', async () => {
    expect(await makeAsking().paint()).toMatchObject({
      error: {
        code: 'NOT_SUPPORTED',
        message: expect.stringContaining('as parameters'),
        details: { client_capabilities: { elicitation: {} } },
      },
    });
  });

  test('asks nobody when it says that its results follow from its parameters', async () => {
    const { paint } = makeAsking({ execution: { determinism: 'bounded' } });
    expect(await paint({ onQuestion: async () => ({ action: 'cancel' }) })).toMatchObject({ error: { code: 'NOT_SUPPORTED' } });
  });

  test('is not waited for by a hub that stops: the question ends at once', async () => {
    const { paint, pipeline } = makeAsking();
    const asked = paint({ onQuestion: () => new Promise(() => {}) });
    await settled();
    expect(await pipeline.drain(10_000)).toBe(true);
    expect(await asked).toMatchObject({ error: { code: 'SHUTTING_DOWN', message: expect.stringContaining('call it again') } });
  });

  test('waits until its deadline at most, and until its caller gives up', async () => {
    const { paint, clock } = makeAsking({ execution: { timeout_ms: 5_000 } });
    const signals: AbortSignal[] = [];
    const onQuestion: CallRequest['onQuestion'] = (_question, signal) => {
      signals.push(signal);
      return new Promise<ToolAnswer>(() => {});
    };
    const late = paint({ onQuestion });
    await settled();
    clock.advance(5_000);
    expect(await late).toMatchObject({ error: { code: 'TIMEOUT' } });
    const caller = new AbortController();
    const given = paint({ onQuestion, signal: caller.signal });
    await settled();
    caller.abort();
    expect(await given).toMatchObject({ error: { code: 'CANCELLED' } });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  test('shows no secret that it was given in its question', async () => {
    const heard: string[] = [];
    const handler = async ({ code }: { code?: string }, { ask }: ToolContext) => ({
      ...(await ask({ message: `Is ${code} right?`, schema: COLOUR })),
    });
    const { paint } = makeAsking({
      handler: handler as never,
      parameters: { type: 'object', properties: { code: { type: 'string', 'x-secret': true } } },
    });
    await paint({
      params: { code: '83461290' },
      onQuestion: async ({ message }) => {
        heard.push(message);
        return { action: 'cancel' };
      },
    });
    expect(heard).toHaveLength(1);
    expect(heard[0]).not.toContain('83461290');
  });
});

describe('a question', () => {
  const asked =
    (properties: object, extra: object = {}) =>
    () =>
      checkQuestion({ message: 'What?', schema: { type: 'object', properties, ...extra } as JsonSchema });

  test('has fields of all kinds that forms show', () => {
    const choice = [{ const: 'a', title: 'A' }];
    const kinds = {
      name: { type: 'string', minLength: 1, title: 'Name' },
      mail: { type: 'string', format: 'email' },
      level: { type: 'integer', minimum: 0, maximum: 9, default: 3 },
      share: { type: 'number', default: 0.5 },
      sure: { type: 'boolean', default: true },
      one: { type: 'string', enum: ['a', 'b'], enumNames: ['A', 'B'] },
      titled: { type: 'string', oneOf: choice },
      some: { type: 'array', items: { type: 'string', enum: ['a'] }, minItems: 1 },
      someTitled: { type: 'array', items: { anyOf: choice } },
    };
    expect(asked(kinds, { required: ['name'] })().schema).toEqual({ type: 'object', properties: kinds, required: ['name'] });
  });

  test.each([
    ['nested', { address: { type: 'object', properties: {} } }],
    ['of references', { it: { $ref: '#/x' } }],
    ['with a pattern, which clients may not know', { it: { type: 'string', pattern: '(a+)+$' } }],
    ['without a type', { it: {} }],
    ['for a password', { password: { type: 'string' } }],
    ['for a setup code', { setupCode: { type: 'string' } }],
  ])('is no form %s', (_what, properties) => {
    expect(asked(properties)).toThrow(/cannot be asked/);
  });

  test('needs words, a key of its own, and names that are there', () => {
    expect(asked({}, { required: ['name'] })).toThrow('schema.required');
    expect(() => checkQuestion({ message: '', schema: COLOUR })).toThrow('message');
    expect(() => checkQuestion({ message: 'x', key: 'a b', schema: COLOUR })).toThrow('key');
    expect(() => checkQuestion({ message: 'x', schema: { type: 'string' } })).toThrow('type');
  });
});

describe('a tool that tells', () => {
  const call = async (handler: (context: ToolContext) => void, extra: Partial<CallRequest> = {}) => {
    const heard: ToolMessage[] = [];
    const { paint } = makeAsking({
      handler: async (_params, context) => {
        handler(context);
        return { ok: true };
      },
      parameters: { type: 'object', properties: { code: { type: 'string', 'x-secret': true } } },
    });
    const answer = await paint({ onMessage: (message) => heard.push(message), ...extra });
    return { answer, heard };
  };

  test('is heard by its caller, secrets aside', async () => {
    const tell = ({ tell: say }: ToolContext) => {
      say('info', 'begun');
      say('warning', { near: 'code 83461290' });
    };
    const { heard } = await call(tell, { params: { code: '83461290' } });
    expect(heard[0]).toEqual({ level: 'info', data: 'begun' });
    expect(heard[1]).toMatchObject({ level: 'warning' });
    expect(JSON.stringify(heard)).not.toContain('83461290');
  });

  test('does so in vain where nobody listens', async () => {
    const { paint } = makeAsking({ handler: async (_params, { tell }) => ({ said: tell('info', 'anybody?') === undefined }) });
    expect(await paint()).toMatchObject({ status: 'success' });
  });

  test('uses the levels of RFC 5424 and keeps it short', async () => {
    expect((await call(({ tell }) => tell('loud' as 'info', 'x'))).answer).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
    expect((await call(({ tell }) => tell('info', 'x'.repeat(20_000)))).answer).toMatchObject({ error: { code: 'PAYLOAD_TOO_LARGE' } });
  });
});
