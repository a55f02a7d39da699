import { REHEARSAL_SCHEMA } from '../../calls/builtin/rehearse-tool.ts';
import { JOB_STATUSES } from '../../calls/request-and-answer.ts';
import { REACHABILITIES } from '../../core/devices/device-model.ts';
import { ERROR_CODES } from '../../core/errors.ts';
import { EVENT_TYPES } from '../../core/events.ts';
import type { JsonSchema } from '../../core/json.ts';
import { DETERMINISMS, TOOL_CATEGORIES } from '../../tools/definition/tool-definition.ts';

type NamedSchemas = Readonly<Record<string, JsonSchema>>;

const text = (description?: string): JsonSchema => ({ type: 'string', ...(description !== undefined && { description }) });
const texts: JsonSchema = { type: 'array', items: { type: 'string' } };
const instant: JsonSchema = { type: 'string', format: 'date-time' };
/** Schema of a time, or of null for "never". */
const instantOrNever: JsonSchema = { type: ['string', 'null'], format: 'date-time' };
const anything = (description: string): JsonSchema => ({ description });
const named = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });
const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items });

/** Returns the schema of an object, which may have further properties. By default, all listed properties are required. */
function record(properties: Readonly<Record<string, JsonSchema>>, required: readonly string[] = Object.keys(properties)): JsonSchema {
  return { type: 'object', ...(required.length > 0 && { required }), properties };
}

/** Returns the schema of an answer that says what failed: what every such answer has, and the properties of this one. */
function failureOf(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { allOf: [named('Failure'), record(properties)] };
}

const CODE = { type: 'string', enum: Object.keys(ERROR_CODES) };
const DETAILS = { type: 'object', description: 'What belongs to the code, such as candidates, problems or approval_id' };
const RETRYABLE = { type: 'boolean', description: 'Whether the same request may work later' };

const ENVELOPE = {
  id: text('Id of this answer'),
  request_id: text('X-Request-ID, or one that the hub made up'),
  trace_id: text('Trace of traceparent; the row in the journal has it too'),
  timestamp: instant,
  execution: record({ node_id: text('The hub that ran it'), duration_ms: { type: 'number' }, hops: { type: 'integer' } }),
};

/** Schemas of errors, calls and jobs. */
export const CALL_SCHEMAS: NamedSchemas = {
  Failure: record({ error: named('ToolError') }),
  Problem: failureOf({
    type: { type: 'string', format: 'uri' },
    title: text('What the code means'),
    status: { type: 'integer' },
    detail: text('What, which, and what to do'),
    instance: text('urn:request:<id>'),
    code: CODE,
    details: DETAILS,
    retryable: RETRYABLE,
  }),
  RpcFailure: record({
    jsonrpc: { const: '2.0' },
    id: { type: ['string', 'number', 'null'] },
    error: record({ code: { type: 'integer', description: 'Code of JSON-RPC' }, message: text(), data: named('ToolError') }),
  }),
  OAuthFailure: record({ error: text('Code of RFC 6749, RFC 7591 or RFC 8628'), error_description: text() }),
  ToolError: record({ code: CODE, message: text(), details: DETAILS, retryable: RETRYABLE }),
  CallAnswer: record(
    {
      ...ENVELOPE,
      status: { const: 'success' },
      result: anything('What the tool answered'),
      response_hash: text('BLAKE3, hex, of the RFC 8785 form of the result'),
      content_type: text('Media type of what a text in the result holds, where the tool says one'),
      details: anything('What the tool says about its result beside it'),
    },
    [...Object.keys(ENVELOPE), 'status', 'result', 'response_hash'],
  ),
  FailedCall: failureOf({
    ...ENVELOPE,
    status: { const: 'error' },
    response_hash: text('BLAKE3, hex, of the RFC 8785 form of the error'),
  }),
  Rehearsal: REHEARSAL_SCHEMA,
  Job: record(
    {
      job_id: text(),
      tool: text('Canonical id'),
      status: { type: 'string', enum: JOB_STATUSES },
      created_at: instant,
      approval_id: text('The request for approval that it waits for, or was waiting for'),
      waits_until: instant,
      finished_at: instant,
      node_id: text('The other hub on which it runs'),
      node_name: text('Its name'),
      progress: record({ fraction: { type: 'number', minimum: 0, maximum: 1 }, note: text() }, ['fraction']),
      result: anything('What the tool answered'),
      error: named('ToolError'),
    },
    ['job_id', 'tool', 'status', 'created_at'],
  ),
  Jobs: record({ jobs: listOf(named('Job')), unreachable: listOf(text('Id of a job of which nothing can be told now')) }, ['jobs']),
  ModelCall: {
    oneOf: [
      record({ id: text(), type: { const: 'function' }, function: record({ name: text(), arguments: anything('JSON text or object') }) }, [
        'id',
        'function',
      ]),
      record({ id: text(), type: { const: 'tool_use' }, name: text(), input: { type: 'object' } }, ['id', 'type', 'name']),
    ],
  },
  ModelCallResult: record(
    {
      role: { const: 'tool' },
      type: { const: 'tool_result' },
      tool_call_id: text('Id of the model’s call'),
      tool_use_id: text('The same for Anthropic'),
      success: { type: 'boolean' },
      output: anything('What the tool answered; null after an error'),
      error: text('CODE: message'),
      content: text('JSON text for the model'),
      is_error: { type: 'boolean' },
    },
    ['tool_call_id', 'success', 'output', 'content', 'is_error'],
  ),
};

const HOME_FLAG = { type: 'boolean' };
const AGE = { type: ['number', 'null'], description: 'Milliseconds' };
const TEXT_OR_NULL = { type: ['string', 'null'] };
const REACHABILITY = { type: 'string', enum: REACHABILITIES };
const MAKER = record({ id: { type: 'integer' }, name: text() });
const ALIASES = listOf(text('Another name that people gave it'));

const DEVICE = {
  id: text(),
  name: text(),
  aliases: ALIASES,
  former_names: listOf(text('What it was called before, which means it still')),
  tools_begin_with: text('How the names of its tools begin, whatever its id is'),
  area: TEXT_OR_NULL,
  kind: text(),
  matter_node_id: text('Number in the fabric'),
  parent: text('Id of the device that it is behind'),
  vendor: MAKER,
  product: MAKER,
  serial: text(),
  software_version: text(),
  device_types: texts,
  reachability: REACHABILITY,
  last_seen: instantOrNever,
  age_ms: AGE,
  is_sleepy: HOME_FLAG,
};
const DEVICE_REQUIRED = ['id', 'name', 'area', 'kind', 'device_types', 'reachability', 'last_seen', 'age_ms', 'is_sleepy'];
const DEVICE_READINGS = { readings: listOf(named('Reading')) };
const CLUSTER = record({
  id: { type: 'integer' },
  name: text(),
  revision: { type: 'integer' },
  features: texts,
  attributes: listOf(record({ name: text(), writable: HOME_FLAG })),
  commands: texts,
  events: texts,
});

/** Schemas of devices, readings, events and the hub itself. */
export const HOME_SCHEMAS: NamedSchemas = {
  Reading: record({
    id: text('<device>/<reading>'),
    device: text(),
    name: text(),
    title: text(),
    kind: text(),
    unit: text(),
    area: TEXT_OR_NULL,
    value: anything('Number, text, flag or null'),
    at: instantOrNever,
    age_ms: AGE,
    reachability: REACHABILITY,
  }),
  Readings: record({ sensors: listOf(named('Reading')) }),
  History: record({
    sensor: { anyOf: [named('Reading'), record({ id: text() })] },
    since: instantOrNever,
    until: instantOrNever,
    aggregation: text(),
    points: listOf(record({ at: instantOrNever, value: anything('Number, text or flag') })),
  }),
  Device: record({ ...DEVICE, tools: listOf(text('Canonical id')), ...DEVICE_READINGS }, [...DEVICE_REQUIRED, 'tools', 'readings']),
  PagePreferences: record({ preferences: { type: 'object', description: 'What the page stored for the caller' } }),
  Areas: record({
    floors: listOf(text('Name of a floor')),
    areas: listOf(record({ area: text(), floor: TEXT_OR_NULL, aliases: ALIASES, devices: listOf(text('Id of a device there')) })),
  }),
  Devices: record(
    {
      devices: listOf(named('Device')),
      unsure: { type: 'boolean', description: 'With `q`: nothing that was found is sure enough' },
      readings: listOf(named('ThingMatch')),
      areas: listOf(named('ThingMatch')),
    },
    ['devices'],
  ),
  DeviceInFull: record(
    {
      ...DEVICE,
      endpoints: listOf(
        record({ endpoint: { type: 'integer' }, device_types: texts, tags: listOf({}), clusters: listOf(CLUSTER) }, [
          'endpoint',
          'device_types',
          'clusters',
        ]),
      ),
      tools: listOf(record({ id: text(), title: text(), description: text() })),
      ...DEVICE_READINGS,
      description: { type: 'object', description: 'Every cluster with its schemas, with `describe=true`' },
    },
    [...DEVICE_REQUIRED, 'endpoints', 'tools', 'readings'],
  ),
  Event: record({
    specversion: { const: '1.0' },
    id: text(),
    source: text(),
    type: { type: 'string', enum: EVENT_TYPES },
    subject: text('Id of what it is about'),
    time: instant,
    data: { type: 'object' },
  }),
  Health: record(
    {
      status: { type: 'string', enum: ['starting', 'ok', 'degraded', 'stopping'] },
      node_id: text(),
      version: text(),
      uptime_ms: { type: 'number' },
      problems: texts,
      proof: text('Signature of the hub over the challenge, base64url'),
    },
    ['status', 'node_id', 'version', 'uptime_ms', 'problems'],
  ),
  Mesh: record({ peers: listOf(record({ id: text(), name: text(), reachable: HOME_FLAG }, ['id'])) }),
};

const SCHEMA = { type: 'object', description: 'JSON Schema 2020-12' };
const FLAG = { type: 'boolean' };
const COUNT = { type: 'integer', minimum: 0 };
const CREATED_BY = { type: 'string', enum: ['system', 'agent'] };
const TOTALS = { calls: COUNT, errors: COUNT, mean_ms: { type: 'number' }, last: instantOrNever, last_error: text('Code') };
const COUNTED = ['calls', 'errors', 'mean_ms', 'last'];

const TOOL = {
  id: text('Canonical id namespace:name@version'),
  name: text(),
  namespace: text(),
  version: text(),
  description: text(),
  parameters: SCHEMA,
  returns: SCHEMA,
  requires: record({ capabilities: texts, permissions: texts, network: FLAG, gpu: FLAG, gpu_preferred: FLAG, multi_party: COUNT }, [
    'capabilities',
    'permissions',
    'network',
  ]),
  execution: record(
    {
      timeout_ms: COUNT,
      retries: COUNT,
      idempotent: FLAG,
      async_allowed: FLAG,
      stream_supported: FLAG,
      side_effects: FLAG,
      determinism: { type: 'string', enum: DETERMINISMS },
      max_memory_bytes: COUNT,
      max_fuel: COUNT,
      max_params_bytes: COUNT,
    },
    ['retries', 'idempotent', 'async_allowed', 'side_effects', 'determinism'],
  ),
  routing: { type: 'object' },
  metadata: record(
    {
      title: text(),
      category: { type: 'string', enum: TOOL_CATEGORIES },
      tags: texts,
      author: text(),
      examples: listOf({ type: 'object' }),
      device: text(),
      area: text(),
      created_by: CREATED_BY,
    },
    ['title', 'category', 'created_by'],
  ),
  dangerous: FLAG,
  audit: { type: 'object' },
  model_name: text('Name for models, [a-z0-9_]'),
  available: {
    type: 'boolean',
    description: 'False while no call of it would run: its device is away, no hub has what it needs, or it is not configured',
  },
  unavailable_reason: text('Why no call of it would run now'),
  missing_setting: text('What the owner has to configure first'),
  nodes: listOf(text('Id of a hub that has it, where this one has not')),
};
const TOOL_REQUIRED = ['id', 'name', 'namespace', 'version', 'description', 'parameters', 'returns', 'metadata', 'model_name', 'available'];
const CONFIDENCE = { type: 'number', minimum: 0, maximum: 1, description: 'How sure it is that this is meant' };
const TOOL_MATCH = record(
  {
    ...TOOL,
    score: { type: 'number', description: 'Comparable within one query' },
    confidence: CONFIDENCE,
    reasons: texts,
    suggested_parameters: { type: 'object', description: 'Parameters that the sentence tells' },
  },
  [...TOOL_REQUIRED, 'score', 'confidence', 'reasons'],
);
const ENTITY_MATCH = record(
  {
    id: text(),
    name: text(),
    area: text(),
    node: text('Id of the hub that has it, where this one has not'),
    score: { type: 'number' },
    confidence: CONFIDENCE,
    reasons: texts,
  },
  ['id', 'name', 'score', 'confidence', 'reasons'],
);
const CANDIDATE = record({ tool: text(), title: text(), device: text(), area: { type: ['string', 'null'] }, confidence: CONFIDENCE });
/** Schemas of the properties that a search result has beside `tools`. */
const SEARCH_NOTES = {
  unsure: { type: 'boolean', description: 'With `q`: nothing that was found is sure enough to be called without asking' },
  which_one: record({ question: text(), candidates: listOf(CANDIDATE) }),
  note: text('What the search says of the sentence itself, such as that its language is not known'),
  near_misses: listOf(named('ToolMatch')),
  readings: listOf(named('ThingMatch')),
  devices: listOf(named('ThingMatch')),
  areas: listOf(named('ThingMatch')),
};
const FUNCTION = record({ name: text(), description: text(), parameters: SCHEMA, strict: FLAG }, ['name', 'description', 'parameters']);
const EXPORTED = listOf({
  anyOf: [named('ToolMatch'), named('Tool'), named('OpenAiTool'), named('AnthropicTool'), named('McpTool')],
});

const TOOL_RECORD = {
  id: text(),
  name: text(),
  description: text(),
  input_schema: {
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'Parameter (`name?` when optional) to type word',
  },
  output_schema: { type: 'object', additionalProperties: { type: 'string' } },
  permissions: texts,
  safety_level: { type: 'string', enum: ['low', 'medium', 'high'] },
  created_by: CREATED_BY,
  created_at: instant,
  exec: record(
    { type: { type: 'string', enum: ['cmd', 'image'] }, cmd: text(), image: text(), args: texts, stdin: text(), powers: texts },
    ['type'],
  ),
  category: { type: 'string', enum: TOOL_CATEGORIES },
  available: FLAG,
};

/** Schemas of tools in each format, of search results, of tool usage and of capabilities. */
export const TOOL_SCHEMAS: NamedSchemas = {
  Tool: record(TOOL, TOOL_REQUIRED),
  ToolMatch: TOOL_MATCH,
  ThingMatch: ENTITY_MATCH,
  OpenAiTool: record({ type: { const: 'function' }, function: FUNCTION }),
  AnthropicTool: record({ name: text(), description: text(), input_schema: SCHEMA }),
  McpTool: record(
    { name: text(), title: text(), description: text(), inputSchema: SCHEMA, outputSchema: SCHEMA, annotations: { type: 'object' } },
    ['name', 'inputSchema'],
  ),
  ToolInSomeForm: { anyOf: [named('Tool'), named('OpenAiTool'), named('AnthropicTool'), named('McpTool')] },
  ToolPage: record(
    {
      tools: EXPORTED,
      ...SEARCH_NOTES,
      total: { ...COUNT, description: 'Tools that fit, on all pages; absent with `q`' },
      next_cursor: text('`cursor` of the next page; absent on the last'),
    },
    ['tools'],
  ),
  ToolMatches: record({ tools: listOf(named('ToolMatch')), ...SEARCH_NOTES }, ['tools']),
  ToolRecord: record(
    TOOL_RECORD,
    Object.keys(TOOL_RECORD).filter((name) => name !== 'exec'),
  ),
  ToolRecords: record({ tools: listOf(named('ToolRecord')) }),
  Usage: record({
    tools: listOf(record({ tool: text(), ...TOTALS }, ['tool', ...COUNTED])),
    agents: listOf(record({ agent: text(), ...TOTALS }, ['agent', ...COUNTED])),
    recent: listOf(
      record(
        {
          ts: instantOrNever,
          type: { type: 'string', enum: ['result', 'failed'] },
          tool: text(),
          agent: text(),
          duration_ms: { type: 'number' },
          error: text('Code'),
        },
        ['ts', 'type', 'tool', 'agent', 'duration_ms'],
      ),
    ),
  }),
  Capabilities: record({
    capabilities: listOf(
      record(
        {
          type: text(),
          description: text(),
          constraints: {
            type: 'object',
            additionalProperties: { type: ['string', 'number', 'boolean'] },
            description: 'Bounds of calls that need it, such as max_image_mb and model',
          },
          tools: listOf(record({ name: text(), description: text(), parameters_hash: text() })),
          devices: listOf(record({ id: text(), name: text(), type: text(), reachable: FLAG })),
        },
        ['type', 'description', 'tools'],
      ),
    ),
  }),
};
