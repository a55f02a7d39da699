import { describe, expect, test } from 'vitest';
import type { ModelTask } from '../../../src/connectors/models/models-config.ts';
import { openModels } from '../../../src/connectors/models/models-connector.ts';
import { HubProblems } from '../../../src/core/health.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { agent, makePipeline, owner } from '../../calls/pipeline-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';

const models = (...tasks: readonly ModelTask[]) => ({
  endpoints: { attic: { url: 'http://127.0.0.1:9/v1' } },
  models: { m: { endpoint: 'attic', model: 'x', tasks, path: '/run', options: {} } },
  defaults: {},
});

function opened(settings: Partial<Parameters<typeof openModels>[1]>) {
  const config = { web: { enabled: false, allowedHosts: [] }, ...settings };
  const connector = openModels(
    {
      env: {},
      stateDir: 'state-that-nobody-makes',
      store: new MemoryKeyValueStore(new ManualClock()),
      logger: silentLogger,
      problems: new HubProblems(),
    },
    config,
  );
  const setup = makePipeline({ capabilities: () => (connector.capabilities ?? []).map(({ type }) => type) });
  for (const tool of connector.tools) expect(setup.registry.register(tool)).toEqual([]);
  return { ...setup, connector };
}

describe('models, cameras and documents', () => {
  test('that nobody configured are listed with what to set, and nothing is opened', async () => {
    const { connector, pipeline } = opened({});
    expect(connector.capabilities).toEqual([]);
    expect(connector.tools.map(({ definition }) => definition.name)).toEqual([
      'llm_complete',
      'tool_codegen',
      'analyze_image',
      'transcribe_audio',
      'generate_embedding',
      'run_model',
      'get_camera_frame',
      'look_through_camera',
      'rag_search',
      'rag_add',
      'rag_remove',
    ]);
    for (const [tool, params] of [
      ['llm_complete', { prompt: 'Hello' }],
      ['rag_search', { query: 'boiler' }],
      ['get_camera_frame', { camera_id: 'hall' }],
      ['look_through_camera', { camera_id: 'hall' }],
    ] as const) {
      expect(await pipeline.call({ principal: owner, tool, params })).toMatchObject({ error: { code: 'NOT_CONFIGURED' } });
    }
  });

  test('are announced by the names that calls ask for, with the largest picture', () => {
    const { connector } = opened({ models: models('vision', 'llm') });
    const constraints = new Map(connector.capabilities?.map((capability) => [capability.type, capability.constraints]));
    expect(constraints.get('vision')).toEqual({ model: 'm', max_image_mb: 20 });
    expect(constraints.get('llm')).toEqual({ model: 'm' });
  });

  test('bring what they can, and no more', () => {
    const having = (...tasks: readonly ModelTask[]) => {
      const { connector } = opened({ models: models(...tasks) });
      const ready = connector.tools.filter(({ missingSetting }) => missingSetting?.() === undefined);
      return [connector.capabilities?.map(({ type }) => type), ready.map(({ definition }) => definition.name)];
    };
    expect(having('llm')).toEqual([
      ['llm', 'ml_runtime'],
      ['llm_complete', 'tool_codegen', 'run_model'],
    ]);
    expect(having('speech')).toEqual([['audio', 'speech_recognition'], ['transcribe_audio']]);
    expect(having('embeddings')).toEqual([
      ['embeddings', 'ml_runtime', 'vector_store'],
      ['generate_embedding', 'run_model', 'rag_search', 'rag_add', 'rag_remove'],
    ]);
  });

  test('have the time limits, retries and places of the catalogue', () => {
    const { registry } = opened({ models: models('llm', 'vision') });
    expect(registry.resolve('llm_complete').definition.execution).toMatchObject({ timeoutMs: 120_000, isStreamSupported: true });
    const { execution, requires, routing } = registry.resolve('analyze_image').definition;
    expect(execution).toMatchObject({ timeoutMs: 60_000, retries: 1 });
    expect([requires.gpuPreferred, routing.preferGpu]).toEqual([true, true]);
    expect(registry.resolve('get_camera_frame').definition.routing).toMatchObject({ preferLocal: true, hopLimit: 1 });
  });

  test('need the permission of the very camera or collection', async () => {
    const cameras = { hall: { device: '/dev/video9', stream: false }, bath: { device: '/dev/video8', stream: false } };
    const { pipeline } = opened({ models: models('vision', 'embeddings'), cameras });
    const call = (tool: string, params: object, ...grants: readonly string[]) =>
      pipeline.call({ principal: agent(...grants), tool, params });
    const denied = { error: { code: 'PERMISSION_DENIED' } };
    expect(await call('get_camera_frame', { camera_id: 'bath' }, 'camera:capture:hall')).toMatchObject(denied);
    expect(await call('look_through_camera', { camera_id: 'hall' }, 'camera:capture:hall')).toMatchObject(denied);
    expect(await call('rag_add', { collection: 'b', documents: [{ content: 'x' }] }, 'rag:write:a', 'rag:search:*')).toMatchObject(denied);
  });

  test('tell of cameras that are not there only those that the caller may use', async () => {
    const cameras = { hall: { device: '/dev/video9', stream: false }, bath: { device: '/dev/video8', stream: false } };
    const { pipeline } = opened({ cameras });
    const principal = agent('camera:capture:hall', 'camera:capture:attic');
    expect(await pipeline.call({ principal, tool: 'get_camera_frame', params: { camera_id: 'attic' } })).toMatchObject({
      error: { code: 'NOT_FOUND', details: { candidates: ['hall'] } },
    });
  });
});
