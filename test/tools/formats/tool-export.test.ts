import { describe, expect, test } from 'vitest';
import {
  fromAgentOs,
  fromExecutableAgentOs,
  fromExecutionResult,
  registerAgentOs,
  toAgentOs,
  toExecutionResult,
  toToolResponse,
  toToolResult,
} from '../../../src/calls/formats/agent-os.ts';
import { fromModelCall, toModelCallResult } from '../../../src/calls/formats/model-calls.ts';
import { canonicalJson } from '../../../src/codec/canonical-json.ts';
import { blake3Hex } from '../../../src/codec/hashes.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { normalizeDefinition, toPublicDefinition } from '../../../src/tools/definition/public-definition.ts';
import { fromHdnRecord, toHdnRecord } from '../../../src/tools/formats/hdn-record.ts';
import { type AnthropicTool, type McpTool, type OpenAiTool, toAnthropic, toMcp, toOpenAi } from '../../../src/tools/formats/model-apis.ts';
import { makePipeline, makeTool, owner } from '../../calls/pipeline-fixture.ts';

const definition = normalizeDefinition({
  name: 'unlock',
  namespace: 'matter',
  version: '1.2.0',
  title: 'Unlock the door',
  description: 'Unlocks the front door',
  dangerous: true,
  parameters: {
    type: 'object',
    required: ['pin'],
    properties: {
      pin: { type: 'string', description: 'PIN', 'x-secret': true },
      seconds: { type: 'integer', description: 'For how long', minimum: 1, default: 5 },
    },
  },
  returns: { type: 'object', required: ['success'], properties: { success: { type: 'boolean' } } },
  requires: { capabilities: ['matter_bridge'], permissions: ['device:control:front-door'], multi_party: 2 },
  execution: { timeout_ms: 9000, idempotent: true, max_memory_bytes: 1000 },
  routing: { node_affinity: ['matter-bridge'], hop_limit: 1 },
  metadata: {
    category: 'acting',
    tags: ['door'],
    device: 'front-door',
    area: 'hall',
    created_by: 'agent',
    examples: [{ description: 'Now', params: { pin: '1234' } }],
  },
});

describe('each outside form and back', () => {
  test('public form: nothing is lost', () => {
    expect(normalizeDefinition(toPublicDefinition(definition))).toEqual(definition);
  });

  test('OpenAI and Anthropic: name, description and parameters, without our own keywords', () => {
    const openAi = toOpenAi(definition, 'unlock');
    expect(openAi).toMatchObject({ type: 'function', function: { name: 'unlock', parameters: { type: 'object', required: ['pin'] } } });
    expect(JSON.stringify(openAi)).not.toContain('x-secret');
    expect(fromOpenAi(openAi)).toEqual(fromAnthropic(toAnthropic(definition, 'unlock')));
    expect(normalizeDefinition(fromOpenAi(openAi))).toMatchObject({ name: 'unlock', description: 'Unlocks the front door' });
  });

  test('OpenAI takes no longer description than 1,024 characters; the others get it whole', () => {
    const long = { ...definition, description: `${'word '.repeat(205)}🔒${' word'.repeat(10)}` };
    const { description } = toOpenAi(long, 'unlock').function;
    expect([description.length <= 1_024, description.endsWith('word…')]).toEqual([true, true]);
    expect(toOpenAi({ ...definition, description: `${'x'.repeat(1_022)}🔒x` }, 'unlock').function.description).toBe(
      `${'x'.repeat(1_022)}…`,
    );
    expect(toOpenAi({ ...definition, description: 'x'.repeat(1_024) }, 'unlock').function.description).toHaveLength(1_024);
    expect(toAnthropic(long, 'unlock').description).toBe(long.description);
    expect(toMcp(long, 'unlock').description).toBe(long.description);
  });

  test('a tool without parameters still has an object with properties', () => {
    const bare = normalizeDefinition({ name: 'x', description: 'X', parameters: { type: 'object' } });
    expect(toAnthropic(bare, 'x').input_schema).toEqual({ type: 'object', properties: {} });
  });

  test('MCP: all four annotations, and an output schema only for objects', () => {
    const online = { ...definition, requires: { ...definition.requires, network: true } };
    expect([toMcp(online, 'x'), toMcp(definition, 'x')].map(({ annotations }) => annotations.openWorldHint)).toEqual([true, false]);
    const tool = toMcp(definition, 'unlock');
    expect(tool.annotations).toEqual({
      title: 'Unlock the door',
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: false,
    });
    expect(tool.outputSchema).toMatchObject({ type: 'object' });
    expect(toMcp({ ...definition, returns: {} }, 'unlock').outputSchema).toBeUndefined();
    const back = normalizeDefinition(fromMcp(tool));
    expect(toMcp(back, 'unlock').annotations).toEqual(tool.annotations);
  });

  test('AgentOS: rights of the caller are permissions, silence about side effects means yes', () => {
    const tool = toAgentOs(definition);
    expect(tool).toMatchObject({
      id: 'matter:unlock@1.2.0',
      displayName: 'Unlock the door',
      requiredCapabilities: ['capability:device:control:front-door'],
      hasSideEffects: true,
    });
    expect(toAgentOs(fromAgentOs(tool))).toEqual(tool);
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

  test('HDN: flat schemas, optional parameters marked, high safety level means dangerous', () => {
    const record = toHdnRecord(definition, 0);
    expect(record).toMatchObject({
      id: 'matter:unlock@1.2.0',
      input_schema: { pin: 'string', 'seconds?': 'int' },
      safety_level: 'high',
      created_by: 'agent',
      created_at: '1970-01-01T00:00:00.000Z',
    });
    expect(toHdnRecord(fromHdnRecord(record), 0)).toEqual(record);
    const seed = {
      ...record,
      id: 'tool_http_get',
      input_schema: { url: 'string', 'selectors?': 'string[]' },
      safety_level: 'low' as const,
    };
    expect(fromHdnRecord(seed)).toMatchObject({
      name: 'tool_http_get',
      parameters: { required: ['url'], properties: { selectors: { type: 'array', items: { type: 'string' } } } },
      execution: { hasSideEffects: false },
    });
    expect(() => fromHdnRecord({ ...record, input_schema: { x: 'datetime' } })).toThrow(/is not a type/);
  });
});

describe('calls and results in the forms of models', () => {
  test('an AgentOS tool runs in the pipeline; its failure is an error answer with the id of the model’s call', async () => {
    const { pipeline, registry } = makePipeline();
    const seen: unknown[] = [];
    registry.register(
      fromExecutableAgentOs({
        ...toAgentOs(
          normalizeDefinition({ name: 'half', description: 'Halves', parameters: { type: 'object' }, execution: { side_effects: false } }),
        ),
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

/** What a model-facing form still says of a tool; everything else gets the careful value again. */
interface ImportedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
}

/** Takes an OpenAI function apart. */
function fromOpenAi(tool: OpenAiTool): ImportedTool {
  return { name: tool.function.name, description: tool.function.description, parameters: tool.function.parameters };
}

/** Takes an Anthropic tool apart. */
function fromAnthropic(tool: AnthropicTool): ImportedTool {
  return { name: tool.name, description: tool.description, parameters: tool.input_schema };
}

/** Also the annotations, in the public form of a definition. */
function fromMcp(tool: McpTool): ImportedTool & { readonly title: string; readonly dangerous: boolean; readonly execution: JsonObject } {
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    parameters: tool.inputSchema,
    dangerous: tool.annotations.destructiveHint,
    execution: { side_effects: !tool.annotations.readOnlyHint, idempotent: tool.annotations.idempotentHint },
  };
}
