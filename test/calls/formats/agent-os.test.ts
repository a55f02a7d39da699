import { describe, expect, test } from 'vitest';
import {
  fromAgentOs,
  fromExecutableAgentOs,
  fromExecutionResult,
  registerAgentOs,
  toExecutionResult,
  toToolResponse,
  toToolResult,
} from '../../../src/calls/formats/agent-os.ts';
import { fromModelCall, toModelCallResult } from '../../../src/calls/formats/model-calls.ts';
import { canonicalJson } from '../../../src/codec/canonical-json.ts';
import { blake3Hex } from '../../../src/codec/hashes.ts';
import { toolId } from '../../../src/tools/definition/tool-names.ts';
import { copyJsonObject, RESULT_LIMITS } from '../../../src/tools/schema/plain-json.ts';
import { unlockDefinition } from '../../tools/formats/unlock-definition.ts';
import { makePipeline, makeTool, owner } from '../pipeline-fixture.ts';

test('AgentOS: rights of the caller are permissions, silence about side effects means yes', () => {
  const { parameters, returns } = unlockDefinition;
  const tool = {
    id: 'matter:unlock@1.2.0',
    name: 'unlock',
    displayName: 'Unlock the door',
    description: 'Unlocks the front door',
    inputSchema: copyJsonObject(parameters, RESULT_LIMITS),
    outputSchema: copyJsonObject(returns, RESULT_LIMITS),
    requiredCapabilities: ['capability:device:control:front-door'],
    category: 'acting',
    version: '1.2.0',
    hasSideEffects: true,
  };
  const definition = fromAgentOs(tool);
  expect(toolId(definition)).toBe(tool.id);
  expect(definition).toMatchObject({
    name: 'unlock',
    version: '1.2.0',
    description: 'Unlocks the front door',
    parameters,
    returns,
    requires: { permissions: ['device:control:front-door'] },
    execution: { hasSideEffects: true },
    metadata: { title: 'Unlock the door', category: 'acting' },
  });
  const foreign = {
    id: 'web-search-tool-v1.2',
    name: 'searchWeb',
    displayName: 'Web',
    description: 'Searches',
    inputSchema: { type: 'object' },
  };
  expect(fromAgentOs({ ...foreign, category: 'Data Analysis' })).toMatchObject({
    namespace: 'agentos',
    execution: { hasSideEffects: true },
    metadata: { tags: ['Data Analysis'] },
  });
});

describe('calls and results in the forms of models', () => {
  test('an AgentOS tool runs in the pipeline; its failure is an error answer with the id of the model’s call', async () => {
    const { pipeline, registry } = makePipeline();
    const seen: unknown[] = [];
    registry.register(
      fromExecutableAgentOs({
        id: 'core:half@1.0.0',
        name: 'half',
        displayName: 'Half',
        description: 'Halves',
        inputSchema: { type: 'object' },
        hasSideEffects: false,
        execute: async (args, context) => {
          seen.push(context);
          return typeof args.n === 'number'
            ? { success: true, output: args.n / 2 }
            : { success: false, error: 'No n', details: { code: 'NOT_FOUND' } };
        },
      }),
    );
    const run = async (text: string) => {
      const call = { id: 'call_1', function: { name: 'half', arguments: text } };
      return toModelCallResult(call, await pipeline.call({ principal: owner, ...fromModelCall(call) }));
    };
    expect(await run('{"n":8}')).toEqual({ tool_call_id: 'call_1', success: true, output: 4 });
    expect(await run('{}')).toMatchObject({ tool_call_id: 'call_1', success: false, error: 'NOT_FOUND: No n' });
    expect(seen[0]).toMatchObject({ gmiId: 'owner' });
    await expect(run('{n:8}')).rejects.toThrow(/not JSON/);
  });

  test('the id of an AgentOS tool stays usable as an alias', () => {
    const { registry } = makePipeline();
    const inputSchema = { type: 'object' };
    const tool = {
      id: 'web-search-tool-v1.2',
      name: 'searchWeb',
      displayName: 'Web',
      description: 'Searches',
      inputSchema,
      hasSideEffects: false,
    };
    registerAgentOs(registry, { ...tool, execute: async () => ({ success: true }) });
    expect(registry.resolve('web-search-tool-v1.2').id).toBe('agentos:searchWeb@1.0.0');
  });

  test('answers become the results of each source', async () => {
    const { pipeline } = makePipeline();
    const failed = await pipeline.call({ principal: owner, tool: 'nothing', params: {} });
    expect(toToolResult(failed)).toMatchObject({ success: false, error_code: 'TOOL_NOT_FOUND' });
    expect(toExecutionResult(failed)).toMatchObject({ success: false, details: { code: 'TOOL_NOT_FOUND' } });
    expect(fromExecutionResult(toExecutionResult(failed))).toEqual({
      ...toToolResult(failed),
      details: failed.status === 'error' ? failed.error.details : {},
    });
  });

  test('the data of a normalised response has the hash that it bears, be it a result or an error', async () => {
    const { pipeline, registry, clock } = makePipeline();
    const handler = async () => {
      clock.advance(250);
      return { b: 1, a: [2, 1] };
    };
    registry.register(makeTool({ name: 'slow', handler }));
    const worked = await pipeline.call({ principal: owner, tool: 'slow', params: {}, requestId: 'r-1', traceId: 't-1' });
    const response = toToolResponse(worked);
    expect(JSON.stringify(response.data)).toBe('{"a":[2,1],"b":1}');
    expect(response.metadata).toEqual({
      source: 'tool',
      normalized: true,
      duration_ms: 250,
      extra: { request_id: 'r-1', trace_id: 't-1', node_id: 'hub-1', hops: 0 },
    });
    const failed = toToolResponse(await pipeline.call({ principal: owner, tool: 'nothing', params: {} }));
    expect(failed).toMatchObject({ data: { code: 'TOOL_NOT_FOUND' }, metadata: { source: 'error' } });
    for (const { data, response_hash: hash } of [response, failed]) expect(blake3Hex(canonicalJson(data))).toBe(hash);
  });
});
