import { CATEGORIES, DETERMINISMS } from '../../../tools/definition/tool-definition.ts';
import { instant, instantOrNever, listOf, type NamedSchemas, named, record, text, texts } from './schema-parts.ts';

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
      category: { type: 'string', enum: CATEGORIES },
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
const ALWAYS = ['id', 'name', 'namespace', 'version', 'description', 'parameters', 'returns', 'metadata', 'model_name', 'available'];
const CONFIDENCE = { type: 'number', minimum: 0, maximum: 1, description: 'How sure it is that this is meant' };
const MATCH = record(
  {
    ...TOOL,
    score: { type: 'number', description: 'Comparable within one query' },
    confidence: CONFIDENCE,
    reasons: texts,
    suggested_parameters: { type: 'object', description: 'Parameters that the sentence tells' },
  },
  [...ALWAYS, 'score', 'confidence', 'reasons'],
);
const THING = record(
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
/** What a search says beside its matches. */
const ASIDE = {
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

const RECORD = {
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
  category: { type: 'string', enum: CATEGORIES },
  available: FLAG,
};

/** Tools in every form in which they are listed, and how they were used. */
export const TOOL_SCHEMAS: NamedSchemas = {
  Tool: record(TOOL, ALWAYS),
  ToolMatch: MATCH,
  ThingMatch: THING,
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
      ...ASIDE,
      total: { ...COUNT, description: 'Tools that fit, on all pages; absent with `q`' },
      next_cursor: text('`cursor` of the next page; absent on the last'),
    },
    ['tools'],
  ),
  ToolMatches: record({ tools: listOf(named('ToolMatch')), ...ASIDE }, ['tools']),
  ToolRecord: record(
    RECORD,
    Object.keys(RECORD).filter((name) => name !== 'exec'),
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
