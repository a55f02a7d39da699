import type { JsonObject, JsonSchema } from '../../core/json.ts';
import { copyJson, copyJsonObject, RESULT_LIMITS, snakeJson } from '../schema/plain-json.ts';
import { RecordReader } from '../schema/record-reader.ts';
import { isSchemaObject, mapSchema } from '../schema/schema-walk.ts';
import { isLineNumber, isParameterNameSecret, withSecretMembers } from '../schema/secrets.ts';
import { INVOCATION_POLICY } from './invocation-policy.ts';
import { type Category, DETERMINISMS, TOOL_CATEGORIES, TOOL_SCHEMA_ID, type ToolDefinition } from './tool-definition.ts';
import { toolId } from './tool-names.ts';

/** Types of members that can be secret because of their name. `undefined` is included, since a member without a type may be a text. */
const SECRET_TYPES: readonly unknown[] = ['string', 'integer', 'number', undefined];
const DEFINITION_LIMITS = { maxSize: 256_000, maxDepth: 48 };

/**
 * Converts a definition from the public form (snake_case, with or without a `tool` wrapper) to the internal form. Missing fields get safe
 * values: the tool has side effects, is not idempotent and allows no async calls. Throws VALIDATION_ERROR with a JSON pointer for an
 * unknown key, a wrong type or a missing description.
 */
export function normalizeDefinition(input: unknown): ToolDefinition {
  const outer = new RecordReader(copyJson(input, DEFINITION_LIMITS));
  checkSchemaId(outer);
  const tool = outer.has('tool') ? outer.child('tool') : outer;
  if (tool !== outer) {
    checkSchemaId(tool);
    outer.end();
  }
  const definition = readDefinition(tool);
  tool.end();
  toolId(definition);
  return definition;
}

function checkSchemaId(reader: RecordReader): void {
  const id = reader.text('$schema');
  if (id !== undefined && id !== TOOL_SCHEMA_ID) throw reader.refuse('$schema', `has to be ${TOOL_SCHEMA_ID}`);
}

function readDefinition(tool: RecordReader): ToolDefinition {
  const metadata = tool.child('metadata');
  // `title` is read even if it is not used, because `end()` throws if a member was not read.
  const insideTitle = metadata.text('title');
  const requires = readRequires(tool);
  const isDangerous = tool.flag('dangerous') ?? metadata.flag('dangerous') ?? requires.needsConfirmation;
  const definition: ToolDefinition = {
    name: tool.requiredText('name'),
    namespace: tool.text('namespace') ?? 'core',
    version: tool.text('version') ?? '1.0.0',
    description: tool.requiredText('description'),
    parameters: readParameters(tool),
    returns: normalizeSchema(tool.object('returns') ?? {}),
    requires: requires.needs,
    execution: readExecution(tool.child('execution'), requires.needs.network),
    routing: readRouting(tool.child('routing')),
    metadata: {
      ...readMetadata(metadata),
      title: tool.text('title') ?? insideTitle ?? titleFrom(tool.requiredText('name')),
      category: readCategory(tool, metadata),
      tags: tool.texts('tags') ?? metadata.texts('tags') ?? [],
      isDangerous,
      audit: readAudit(tool.child('audit'), isDangerous),
      ...(requires.approvalsNeeded !== undefined && { approvalsNeeded: requires.approvalsNeeded }),
    },
  };
  metadata.end();
  return definition;
}

function readAudit(audit: RecordReader, isDangerous: boolean): ToolDefinition['metadata']['audit'] {
  const values = {
    logParams: audit.flag('log_params') ?? true,
    logResult: audit.flag('log_result') ?? true,
    notifyAdmins: audit.flag('notify_admins') ?? isDangerous,
  };
  audit.end();
  return values;
}

function readRequires(tool: RecordReader) {
  const isBareList = Array.isArray(tool.any('requires'));
  const requires = isBareList ? new RecordReader({}) : tool.child('requires');
  const needs: ToolDefinition['requires'] = {
    capabilities: (isBareList ? tool.texts('requires') : requires.texts('capabilities')) ?? [],
    permissions: requires.texts('permissions') ?? tool.texts('permissions') ?? [],
    network: requires.flag('network') ?? false,
    gpu: requires.flag('gpu') ?? false,
    gpuPreferred: requires.flag('gpu_preferred') ?? false,
  };
  const approvalsNeeded = requires.integer('multi_party', 1);
  const needsConfirmation = requires.flag('confirmation') ?? approvalsNeeded !== undefined;
  requires.end();
  if (tool.has('permissions') && requires.has('permissions')) {
    throw tool.refuse('permissions', 'is given twice: here and in requires');
  }
  return { needs, approvalsNeeded, needsConfirmation };
}

function readParameters(tool: RecordReader): JsonSchema {
  const schema = normalizeSchema(tool.object('parameters') ?? { type: 'object', properties: {} });
  if (schema.type !== 'object') throw tool.refuse('parameters/type', 'has to be "object": model servers refuse any other root');
  const toolText = `${tool.text('name')} ${tool.text('title')} ${tool.text('description')}`;
  return mapSchema(schema, (child) => withSecretMembers(child, (name, member) => isUnmarkedSecret(name, member, toolText)));
}

/** Returns whether a member without `x-secret` is a secret, by `writeOnly` or by its name. A `pin` that is a GPIO line is no secret. */
function isUnmarkedSecret(name: string, member: JsonSchema, toolText: string): boolean {
  const { type, writeOnly, 'x-secret': mark } = member;
  if (mark !== undefined) return false;
  return writeOnly === true || (isParameterNameSecret(name) && SECRET_TYPES.includes(type) && !isLineNumber(name, member, toolText));
}

function readExecution(execution: RecordReader, needsNetwork: boolean): ToolDefinition['execution'] {
  const maxMemoryBytes = execution.integer('max_memory_bytes', 1);
  const maxFuel = execution.integer('max_fuel', 1);
  const maxParamsBytes = execution.integer('max_params_bytes', 1);
  const timeoutMs = execution.integer('timeout_ms', 1);
  const values: ToolDefinition['execution'] = {
    timeoutMs: timeoutMs ?? INVOCATION_POLICY.timeoutMs,
    ...(timeoutMs === undefined && { isTimeoutDefault: true as const }),
    retries: execution.integer('retries', 0) ?? (needsNetwork ? INVOCATION_POLICY.retries : 0),
    isIdempotent: execution.flag('idempotent') ?? false,
    isAsyncAllowed: execution.flag('async_allowed') ?? false,
    isStreamSupported: execution.flag('stream_supported') ?? false,
    hasSideEffects: execution.flag('side_effects') ?? true,
    determinism: execution.oneOf('determinism', DETERMINISMS) ?? 'nondeterministic',
    ...(maxMemoryBytes !== undefined && { maxMemoryBytes }),
    ...(maxFuel !== undefined && { maxFuel }),
    ...(maxParamsBytes !== undefined && { maxParamsBytes }),
  };
  execution.end();
  return values;
}

function readRouting(routing: RecordReader): ToolDefinition['routing'] {
  const values = {
    preferLocal: routing.flag('prefer_local') ?? false,
    nodeAffinity: routing.texts('node_affinity') ?? [],
    hopLimit: routing.integer('hop_limit', 0) ?? 3,
    preferGpu: routing.flag('prefer_gpu') ?? false,
  };
  routing.end();
  return values;
}

function readMetadata(metadata: RecordReader) {
  const device = metadata.text('device');
  const area = metadata.text('area');
  return {
    author: metadata.text('author') ?? '',
    examples: metadata.children('examples').map(readExample),
    createdBy: metadata.oneOf('created_by', ['system', 'agent']) ?? ('system' as const),
    ...(device !== undefined && { device }),
    ...(area !== undefined && { area }),
  };
}

function readExample(example: RecordReader): { readonly description: string; readonly params: JsonObject } {
  const values = { description: example.text('description') ?? '', params: example.object('params') ?? {} };
  example.end();
  return values;
}

function readCategory(tool: RecordReader, metadata: RecordReader): Category {
  const outside = tool.oneOf('category', TOOL_CATEGORIES);
  const inside = metadata.oneOf('category', TOOL_CATEGORIES);
  if (outside !== undefined && inside !== undefined && outside !== inside) {
    throw tool.refuse('category', `contradicts metadata.category ${inside}`);
  }
  return outside ?? inside ?? 'managing';
}

function titleFrom(name: string): string {
  const words = name.replace(/[_.-]+/g, ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Removes `"type": "any"` from the schema. It is not valid JSON Schema, and it restricts nothing. */
function normalizeSchema(schema: JsonObject): JsonSchema {
  return mapSchema(schema, (child) => {
    if (child.type !== 'any') return child;
    const { type: _, ...rest } = child;
    return rest;
  });
}

/** Returns the names of a tool's parameters. */
export function parameterNames({ parameters }: Pick<ToolDefinition, 'parameters'>): readonly string[] {
  return Object.keys(isSchemaObject(parameters.properties) ? parameters.properties : {});
}

/** Returns a definition in the public form. `normalizeDefinition` converts it back to an equal definition. */
export function toPublicDefinition(definition: ToolDefinition): JsonObject {
  const { name, namespace, version, description, parameters, returns, requires, routing, metadata } = definition;
  const { title, category, tags, author, examples, device, area, createdBy } = metadata;
  const tool = {
    name,
    namespace,
    version,
    description,
    parameters,
    returns,
    requires: {
      capabilities: requires.capabilities,
      permissions: requires.permissions,
      network: requires.network,
      gpu: requires.gpu,
      gpu_preferred: requires.gpuPreferred,
      multi_party: metadata.approvalsNeeded,
    },
    execution: publicExecution(definition.execution),
    routing: snakeJson(routing),
    metadata: { title, category, tags, author, examples, device, area, created_by: createdBy },
    dangerous: metadata.isDangerous,
    audit: snakeJson(metadata.audit),
  };
  return copyJsonObject({ $schema: TOOL_SCHEMA_ID, tool }, RESULT_LIMITS);
}

function publicExecution(execution: ToolDefinition['execution']): object {
  return {
    timeout_ms: execution.isTimeoutDefault ? undefined : execution.timeoutMs,
    retries: execution.retries,
    idempotent: execution.isIdempotent,
    async_allowed: execution.isAsyncAllowed,
    stream_supported: execution.isStreamSupported,
    side_effects: execution.hasSideEffects,
    determinism: execution.determinism,
    max_memory_bytes: execution.maxMemoryBytes,
    max_fuel: execution.maxFuel,
    max_params_bytes: execution.maxParamsBytes,
  };
}
