import { toAtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { Logger } from '../../core/logger.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { normalizeDefinition, parameterNames, toPublicDefinition } from '../../tools/definition/public-definition.ts';
import type { ToolDefinition } from '../../tools/definition/tool-definition.ts';
import { parseToolName, toolId } from '../../tools/definition/tool-names.ts';
import { fromHdnRecord, type HdnDraft } from '../../tools/formats/hdn-record.ts';
import { type ExecRecord, execJson, readExec } from '../../tools/programs/program-tool.ts';
import { RecordReader } from '../../tools/schema/record-reader.ts';
import { isSchemaObject } from '../../tools/schema/schema-walk.ts';
import { type Composition, compositionJson, readComposition } from '../composition/composition.ts';

/** A request to register a tool: its definition, with steps or a program. */
export interface RegistrationRequest {
  readonly definition: ToolDefinition;
  /** The steps. A tool that has neither steps nor a program (`exec`) cannot run. */
  readonly composition?: Composition;
  readonly exec?: ExecRecord;
}

/** A registered tool as it is stored; its definition includes the permissions of its steps. */
export interface ToolRecord extends RegistrationRequest {
  /** Id of the principal that registered the tool. */
  readonly maker: string;
  /** Milliseconds since 1970. */
  readonly createdAtMs: number;
}

/** Returns the record as JSON for the store. */
function recordToJson({ definition, composition, exec, maker, createdAtMs }: ToolRecord): JsonObject {
  return {
    definition: toPublicDefinition(definition),
    ...(composition && compositionJson(composition)),
    ...(exec && { exec: execJson(exec) }),
    maker,
    created_at_ms: createdAtMs,
  };
}

/** Parses a stored record of this or an earlier version of the hub. Throws VALIDATION_ERROR if the record has another format. */
function recordFromJson(value: Json): ToolRecord {
  const reader = new RecordReader(value);
  const definition = normalizeDefinition(reader.any('definition'));
  const composition = readComposition(reader);
  const exec = readExec(reader, parameterNames(definition));
  return {
    definition,
    ...(composition && { composition }),
    ...(exec && { exec }),
    maker: reader.requiredText('maker'),
    createdAtMs: reader.integer('created_at_ms', 0) ?? 0,
  };
}

/** The fields of a definition that depend on the tool's maker. */
interface Origin {
  readonly createdBy: 'system' | 'agent';
  /** Namespace for a tool that declares none. */
  readonly namespace: string;
}

/**
 * Parses a registration. With `input_schema` or `id` it has the form of the HTTP tool service, otherwise that of the public definition.
 * Both forms may add `steps` and `result`, or `exec`. Throws VALIDATION_ERROR with a JSON pointer if the registration is malformed.
 */
export function readRegistration(body: JsonObject, origin: Origin): RegistrationRequest {
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
  // A record may contain these fields, but they are ignored here: the hub sets the first two itself, and other functions read the rest.
  for (const key of ['created_by', 'created_at', 'exec', 'steps', 'result']) reader.any(key);
  reader.end();
  return fromHdnRecord(record);
}

function readDefinition({ steps: _steps, result: _result, exec: _exec, ...body }: JsonObject, origin: Origin): ToolDefinition {
  const inner = new RecordReader(body).object('tool') ?? body;
  return normalizeDefinition(inner.namespace === undefined ? withNamespace(body, origin.namespace) : body);
}

function withNamespace(body: JsonObject, namespace: string): JsonObject {
  const { tool } = body;
  return isSchemaObject(tool) ? ({ ...body, tool: { ...tool, namespace } } as JsonObject) : { ...body, namespace };
}

const SPACE = 'registered_tool';

/** The store of registered tools on the disk. */
export class ToolRecordStore {
  readonly #parts: { readonly store: KeyValueStore; readonly logger: Logger };

  constructor(parts: { readonly store: KeyValueStore; readonly logger: Logger }) {
    this.#parts = parts;
  }

  /** Stores a record. Throws STORAGE_FAILED if the write fails, and PAYLOAD_TOO_LARGE if the record is too long. */
  keep(record: ToolRecord): void {
    this.#parts.store.set(SPACE, toolId(record.definition), recordToJson(record));
  }

  forget(id: string): void {
    this.#parts.store.delete(SPACE, id);
  }

  /** Returns all stored records. An unreadable record is logged and stays on the disk, since a newer hub may have written it. */
  all(): readonly ToolRecord[] {
    return this.#parts.store.entries(SPACE).flatMap(({ key, value }) => {
      try {
        return [recordFromJson(value)];
      } catch (thrown) {
        this.#parts.logger.warn('tools.record_unreadable', { tool: key, problem: toAtmoError(thrown).message });
        return [];
      }
    });
  }
}
