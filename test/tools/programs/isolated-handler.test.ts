import { afterEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { isolatedHandler } from '../../../src/tools/programs/node-process.ts';
import { makePipeline, makeTool, owner } from '../../calls/pipeline-fixture.ts';

const MODULE = `
export const createTool = (config) => ({
  async execute(params) {
    if (params.do === 'loop') for (;;) {}
    if (params.do === 'bomb') { const hoard = []; for (;;) hoard.push(new Array(100_000).fill(params)); }
    if (params.do === 'jump') return new Array(30_000_000).fill(0.5).length;
    if (params.do === 'buffers') { const hoard = []; for (;;) { hoard.push(Buffer.alloc(8_388_608, 1)); await new Promise((resolve) => setImmediate(resolve)); } }
    if (params.do === 'throw') throw new Error('inner secret');
    if (params.do === 'environment') return Object.keys(process.env);
    if (params.do === 'exit') process.exit(3);
    return { config, params };
  },
});`;
const code = {
  specifier: `data:text/javascript,${encodeURIComponent(MODULE)}`,
  entry: 'createTool',
  config: { unit: 'C' },
  maxMemoryBytes: 16 * 1_048_576,
};

let setup: ReturnType<typeof makePipeline>;
afterEach(() => setup.pipeline.drain(0));

async function call(params: JsonObject, timeoutMs = 100_000) {
  setup = makePipeline({
    clock: {
      now: Date.now,
      monotonic: () => performance.now(),
      after: (ms, callback) => {
        const timer = setTimeout(callback, ms);
        return () => clearTimeout(timer);
      },
    },
  });
  const parameters = { type: 'object', properties: { do: { type: 'string', description: 'What to do' } } };
  setup.registry.register(makeTool({ parameters, handler: isolatedHandler(code, makeTool({}).definition) }));
  return setup.pipeline.call({ principal: owner, tool: 'probe', params, timeoutMs });
}

describe('a tool in a process of its own', () => {
  test('gets its configuration and parameters and answers', async () => {
    expect(await call({ do: 'answer' })).toMatchObject({ status: 'success', result: { config: { unit: 'C' }, params: { do: 'answer' } } });
  });

  test.each(['bomb', 'jump', 'buffers'])('a memory bomb (%s) is ended, and the hub lives', async (kind) => {
    expect(await call({ do: kind })).toMatchObject({ error: { code: 'RESOURCE_EXCEEDED', details: { max_memory_bytes: 16_777_216 } } });
  });

  test('an endless loop ends at the deadline', async () => {
    expect(await call({ do: 'loop' }, 300)).toMatchObject({ error: { code: 'TIMEOUT' } });
  });

  test('what it throws stays inside', async () => {
    const answer = await call({ do: 'throw' });
    expect(answer).toMatchObject({ error: { code: 'INTERNAL_ERROR' } });
    expect(JSON.stringify(answer)).not.toContain('inner secret');
  });

  test('it has no environment, and its exit is not the hub’s', async () => {
    expect(await call({ do: 'environment' })).toMatchObject({ result: [] });
    expect(await call({ do: 'exit' })).toMatchObject({ error: { code: 'INTERNAL_ERROR' } });
  });
});
