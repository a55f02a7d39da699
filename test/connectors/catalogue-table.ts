import type { JsonObject } from '../../src/core/json.ts';
import type { Category } from '../../src/tools/definition/tool-definition.ts';

/** A tool as the catalogue has it; what it leaves open is absent. */
export interface CatalogueRow {
  readonly id: string;
  readonly category: Category;
  /** JSON Schema of each parameter without its text; `{}` takes several types. */
  readonly parameters: Readonly<Record<string, JsonObject>>;
  readonly required: readonly string[];
  readonly returns: readonly string[];
  readonly capabilities: readonly string[];
  readonly permissions: readonly string[];
  readonly execution?: JsonObject;
  readonly routing?: JsonObject;
}

const string = { type: 'string' };
const integer = { type: 'integer' };
const number = { type: 'number' };
const object = { type: 'object' };
const array = { type: 'array' };
const flag = (value: boolean) => ({ type: 'boolean', default: value });
const choice = (...values: readonly string[]) => ({ type: 'string', enum: values });

/**
 * The catalogue: 25 tools, and control_matter_device. Permissions have the
 * resource that one token may be bound to, and there is one for each tool that reaches beyond the hub.
 */
export const CATALOGUE: readonly CatalogueRow[] = [
  {
    id: 'core:query_sensor',
    category: 'sensing',
    parameters: { sensor_id: string, time_range: object, aggregation: { ...choice('none', 'avg', 'min', 'max', 'sum'), default: 'none' } },
    required: ['sensor_id'],
    returns: ['values', 'unit', 'sensor_type'],
    capabilities: ['sensor_access'],
    permissions: ['sensor:read:{sensor_id}'],
  },
  {
    id: 'core:get_camera_frame',
    category: 'sensing',
    parameters: {
      camera_id: string,
      resolution: object,
      format: { ...choice('jpeg', 'png', 'raw'), default: 'jpeg' },
      quality: { ...integer, minimum: 1, maximum: 100, default: 85 },
    },
    required: ['camera_id'],
    returns: ['image', 'format', 'width', 'height', 'timestamp'],
    capabilities: ['camera_access'],
    permissions: ['camera:capture:{camera_id}'],
    routing: { prefer_local: true, hop_limit: 1 },
  },
  {
    id: 'core:read_temperature',
    category: 'sensing',
    parameters: { location: string, unit: choice('celsius', 'fahrenheit', 'kelvin') },
    required: ['location'],
    returns: ['value', 'unit'],
    capabilities: ['sensor_access'],
    permissions: ['sensor:read:{location}'],
  },
  {
    id: 'core:get_location',
    category: 'sensing',
    parameters: { device_id: string, accuracy: choice('coarse', 'balanced', 'precise') },
    required: [],
    returns: ['lat', 'lon', 'accuracy_m'],
    capabilities: ['location_access'],
    permissions: ['location:read:{device_id}'],
  },
  {
    id: 'core:control_device',
    category: 'acting',
    parameters: { device_id: string, command: string, params: object },
    required: ['device_id', 'command'],
    returns: ['success', 'new_state'],
    capabilities: ['device_control'],
    permissions: ['device:control:{device_id}'],
  },
  {
    id: 'core:set_thermostat',
    category: 'acting',
    parameters: { device_id: string, target_temp: number, mode: choice('heat', 'cool', 'auto', 'off') },
    required: ['device_id'],
    returns: ['success', 'current_temp'],
    capabilities: ['thermostat_control'],
    permissions: ['device:control:{device_id}'],
  },
  {
    id: 'core:turn_on_light',
    category: 'acting',
    parameters: { device_id: string, brightness: { ...integer, minimum: 0, maximum: 100 }, color: {} },
    required: ['device_id'],
    returns: ['success', 'state'],
    capabilities: ['light_control'],
    permissions: ['device:control:{device_id}'],
  },
  {
    // A call with `attribute` reads or writes instead of a command, and the endpoint is the one that has the cluster.
    id: 'matter:control_matter_device',
    category: 'acting',
    parameters: { device_id: string, endpoint: integer, cluster: string, command: string, params: object },
    required: ['device_id', 'cluster'],
    returns: ['success', 'device_state', 'error_code'],
    capabilities: ['matter_bridge'],
    permissions: ['device:control:{device_id}'],
    routing: { node_affinity: ['matter-bridge'], hop_limit: 1 },
  },
  {
    id: 'core:notify',
    category: 'communicating',
    parameters: {
      recipient: string,
      message: { ...string, maxLength: 4096 },
      urgency: { ...choice('low', 'medium', 'high', 'critical'), default: 'medium' },
      title: { ...string, maxLength: 256 },
      channels: array,
    },
    required: ['recipient', 'message'],
    returns: ['delivered', 'delivery_id', 'channel_used', 'timestamp'],
    capabilities: ['notification'],
    permissions: ['notify:send'],
    execution: { timeout_ms: 30_000, retries: 2, async_allowed: true, idempotent: false },
  },
  {
    id: 'core:send_email',
    category: 'communicating',
    parameters: {
      to: { ...array, minItems: 1 },
      cc: array,
      bcc: array,
      subject: { ...string, maxLength: 256 },
      body: string,
      html: flag(false),
      attachments: array,
    },
    required: ['to', 'subject', 'body'],
    returns: ['sent', 'message_id', 'timestamp'],
    capabilities: ['email'],
    permissions: ['email:send'],
  },
  {
    id: 'core:post_slack',
    category: 'communicating',
    parameters: { channel: string, text: string, thread_ts: string },
    required: ['channel', 'text'],
    returns: ['ok', 'ts'],
    capabilities: ['slack_integration'],
    permissions: ['slack:post'],
  },
  {
    id: 'core:send_sms',
    category: 'communicating',
    parameters: { phone: string, message: string },
    required: ['phone', 'message'],
    returns: ['delivered', 'sid'],
    capabilities: ['sms'],
    permissions: ['sms:send'],
  },
  {
    id: 'core:search_web',
    category: 'querying',
    parameters: {
      query: { ...string, maxLength: 1000 },
      count: { ...integer, minimum: 1, maximum: 100, default: 10 },
      freshness: { ...choice('day', 'week', 'month', 'year', 'any'), default: 'any' },
      safe_search: flag(true),
    },
    required: ['query'],
    returns: ['results', 'total_results'],
    capabilities: ['internet'],
    permissions: ['web:search'],
  },
  {
    id: 'core:query_database',
    category: 'querying',
    parameters: { database: string, query: string, params: array },
    required: ['database', 'query'],
    returns: ['rows', 'columns'],
    capabilities: ['database_access'],
    permissions: ['db:query:{database}'],
  },
  {
    id: 'core:rag_search',
    category: 'querying',
    parameters: {
      query: string,
      collection: string,
      limit: { ...integer, minimum: 1, maximum: 100, default: 10 },
      min_score: { ...number, minimum: 0, maximum: 1, default: 0.5 },
      filter: object,
    },
    required: ['query'],
    returns: ['documents', 'total_searched'],
    capabilities: ['embeddings', 'vector_store'],
    permissions: ['rag:search:{collection}'],
  },
  {
    id: 'core:fetch_url',
    category: 'querying',
    parameters: { url: string, extract_mode: choice('raw', 'markdown', 'text') },
    required: ['url'],
    returns: ['content', 'content_type'],
    capabilities: ['internet'],
    permissions: ['net:read'],
  },
  {
    id: 'core:run_model',
    category: 'computing',
    parameters: { model: string, input: {}, params: object },
    required: ['model', 'input'],
    returns: ['output', 'latency_ms'],
    capabilities: ['ml_runtime'],
    permissions: ['model:run'],
  },
  {
    id: 'core:analyze_image',
    category: 'computing',
    parameters: {
      image: string,
      task: { ...choice('detect_objects', 'classify', 'segment', 'ocr', 'describe', 'custom'), default: 'describe' },
      prompt: string,
      model: string,
    },
    required: ['image'],
    returns: ['result', 'confidence', 'model_used', 'processing_ms'],
    capabilities: ['vision'],
    permissions: ['vision:analyze'],
    execution: { timeout_ms: 60_000, retries: 1 },
    routing: { prefer_gpu: true },
  },
  {
    id: 'core:transcribe_audio',
    category: 'computing',
    parameters: { audio: string, language: string, model: string, timestamps: flag(false) },
    required: ['audio'],
    returns: ['text', 'language', 'segments', 'confidence'],
    capabilities: ['audio', 'speech_recognition'],
    permissions: ['audio:transcribe'],
  },
  {
    id: 'core:generate_embedding',
    category: 'computing',
    parameters: { text: {}, model: string },
    required: ['text'],
    returns: ['embeddings'],
    capabilities: ['embeddings'],
    permissions: ['embedding:create'],
  },
  {
    id: 'core:llm_complete',
    category: 'computing',
    parameters: {
      prompt: string,
      system: string,
      model: string,
      max_tokens: { ...integer, default: 1024 },
      temperature: { ...number, minimum: 0, maximum: 2, default: 0.7 },
      stream: flag(false),
    },
    required: ['prompt'],
    returns: ['text', 'model_used', 'tokens_used', 'finish_reason'],
    capabilities: ['llm'],
    permissions: ['llm:complete'],
    execution: { timeout_ms: 120_000, stream_supported: true },
  },
  {
    id: 'core:spawn_agent',
    category: 'managing',
    parameters: { agent_type: string, name: string, config: object, permissions: array, ttl_seconds: integer },
    required: ['agent_type'],
    returns: ['agent_id', 'status', 'token'],
    capabilities: ['agent_runtime'],
    permissions: ['agent:spawn'],
    execution: { timeout_ms: 10_000 },
  },
  {
    id: 'core:kill_agent',
    category: 'managing',
    parameters: { agent_id: string, reason: string },
    required: ['agent_id'],
    returns: ['success'],
    capabilities: ['agent_runtime'],
    permissions: ['agent:kill:{agent_id}'],
  },
  {
    id: 'core:adjust_threshold',
    category: 'managing',
    parameters: { agent_id: string, param: string, value: {} },
    required: ['agent_id', 'param', 'value'],
    returns: ['success', 'old_value'],
    capabilities: ['agent_runtime'],
    permissions: ['agent:configure:{agent_id}'],
  },
  {
    id: 'core:store_data',
    category: 'managing',
    parameters: {
      key: { ...string, pattern: '^[a-zA-Z0-9_/.-]+$', maxLength: 256 },
      value: {},
      ttl_seconds: { ...integer, minimum: 0 },
      if_not_exists: flag(false),
    },
    required: ['key', 'value'],
    returns: ['success', 'key', 'created', 'expires_at'],
    capabilities: ['storage'],
    permissions: ['storage:write:{key}'],
  },
  {
    id: 'core:get_data',
    category: 'managing',
    parameters: { key: string },
    required: ['key'],
    returns: ['value', 'exists'],
    capabilities: ['storage'],
    permissions: ['storage:read:{key}'],
  },
];

/** What needs a setting, with the setting. */
export const NEEDS_SETTING: readonly (readonly [id: string, setting: string])[] = [
  ['core:get_camera_frame', 'connectors.cameras'],
  ['core:get_location', 'connectors.location'],
  ['core:atmosphere_capabilities', 'connectors.atmosphere'],
  ['core:atmosphere_call', 'connectors.atmosphere.calls.outgoing'],
  ['core:notify', 'connectors.notify'],
  ['core:send_email', 'connectors.email'],
  ['core:post_slack', 'connectors.slack'],
  ['core:send_sms', 'connectors.sms'],
  ['core:search_web', 'connectors.search.url'],
  ['core:query_database', 'connectors.databases'],
  ['core:rag_search', 'connectors.models with a model for embeddings'],
  ['core:rag_add', 'connectors.models with a model for embeddings'],
  ['core:rag_remove', 'connectors.models with a model for embeddings'],
  ['core:run_model', 'connectors.models'],
  ['core:analyze_image', 'connectors.models with a model for vision'],
  ['core:look_through_camera', 'connectors.cameras and connectors.models with a model for vision'],
  ['core:transcribe_audio', 'connectors.models with a model for speech'],
  ['core:generate_embedding', 'connectors.models with a model for embeddings'],
  ['core:llm_complete', 'connectors.models with a model for llm'],
  ['core:tool_codegen', 'connectors.models with a model for llm'],
  ['core:list_files', 'connectors.files.roots'],
  ['core:read_file', 'connectors.files.roots'],
  ['core:write_file', 'connectors.files.roots'],
  ['core:exec', 'connectors.sandbox.commands'],
  ['core:shell', 'connectors.sandbox.commands'],
  ['core:docker_list', 'connectors.sandbox.container_engine'],
];

/** The seed tools of the HTTP tool service by their names there, with the tools that they are. */
export const SEED_NAMES: readonly (readonly [name: string, id: string])[] = [
  ['tool_http_get', 'core:http_get'],
  ['tool_html_scraper', 'core:html_scraper'],
  ['tool_json_parse', 'core:json_parse'],
  ['tool_text_search', 'core:text_search'],
  ['tool_file_read', 'core:read_file'],
  ['tool_file_write', 'core:write_file'],
  ['tool_ls', 'core:list_files'],
  ['tool_exec', 'core:exec'],
  ['tool_docker_list', 'core:docker_list'],
  ['tool_codegen', 'core:tool_codegen'],
  ['list_files', 'core:list_files'],
  ['read_file', 'core:read_file'],
  ['write_file', 'core:write_file'],
  ['shell', 'core:shell'],
  ['fetch', 'core:fetch'],
];
