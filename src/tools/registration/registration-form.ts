import type { JsonObject } from '../../core/json.ts';
import { normalizeDefinition, parameterNames } from '../definition/normalize-definition.ts';
import type { ToolDefinition } from '../definition/tool-definition.ts';
import { parseToolName } from '../definition/tool-name.ts';
import { fromHdnRecord, type HdnDraft } from '../forms/hdn-record.ts';
import { RecordReader } from '../manifest/record-reader.ts';
import { isSchemaObject } from '../schema/schema-walk.ts';
import { type Composition, readComposition } from './composition.ts';
import { type ExecRecord, readExec } from './exec-record.ts';

/** A tool as somebody sends it: what it says of itself, and what is to run. */
export interface RegistrationForm {
  readonly definition: ToolDefinition;
  readonly composition?: Composition;
  readonly exec?: ExecRecord;
}

/** What its maker's identity decides, whatever the record says. */
interface Origin {
  readonly createdBy: 'system' | 'agent';
  /** Of a tool that names none. */
  readonly namespace: string;
}

/**
 * Reads the record of source 003 (`input_schema` or `id`) or the public definition of source 000 §2, each with `steps` and
 * `result`, or `exec`. VALIDATION_ERROR with a JSON pointer.
 */
export function readRegistration(body: JsonObject, origin: Origin): RegistrationForm {
  const isRecord = 'input_schema' in body || 'id' in body;
  const draft = isRecord ? readRecord(body, origin) : readDefinition(body, origin);
  const definition = { ...draft, metadata: { ...draft.metadata, createdBy: origin.createdBy } };
  const reader = new RecordReader(body);
  const composition = readComposition(reader);
  const exec = readExec(reader, parameterNames(definition));
  if (composition && exec) throw reader.refuse('exec', 'cannot stand beside steps: only one of them can run');
  return { definition, ...(composition && { composition }), ...(exec && { exec }) };
}

function readRecord(body: JsonObject, origin: Origin): ToolDefinition {
  const reader = new RecordReader(body);
  const id = reader.requiredText('id');
  const record: HdnDraft = {
    id: parseToolName(id)?.namespace === undefined ? `${origin.namespace}:${id}` : id,
    name: reader.text('name') ?? id,
    description: reader.requiredText('description'),
    input_schema: reader.object('input_schema') ?? {},
    output_schema: reader.object('output_schema') ?? {},
    permissions: reader.texts('permissions') ?? [],
    safety_level: reader.oneOf('safety_level', ['low', 'medium', 'high']) ?? 'medium',
    created_by: origin.createdBy,
  };
  // These say nothing that counts: who asks and when decides about the first two, the others are read apart.
  for (const key of ['created_by', 'created_at', 'exec', 'steps', 'result']) reader.any(key);
  reader.end();
  return fromHdnRecord(record);
}

function readDefinition({ steps: _steps, result: _result, exec: _exec, ...body }: JsonObject, origin: Origin): ToolDefinition {
  const inner = new RecordReader(body).object('tool') ?? body;
  const isNamed = inner.namespace !== undefined;
  const named = isNamed ? body : withNamespace(body, origin.namespace);
  return normalizeDefinition(named);
}

function withNamespace(body: JsonObject, namespace: string): JsonObject {
  const { tool } = body;
  return isSchemaObject(tool) ? ({ ...body, tool: { ...tool, namespace } } as JsonObject) : { ...body, namespace };
}
