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

/** A tool that somebody registered, as it is kept. */
export interface ToolRecord {
  /** Complete: with the permissions of its steps. */
  readonly definition: ToolDefinition;
  /** What it does; a record without it runs nothing. */
  readonly composition?: Composition;
  readonly exec?: ExecRecord;
  /** Id of the principal that registered it. */
  readonly maker: string;
  /** Milliseconds since 1970. */
  readonly createdAtMs: number;
}

/** The form in which a record is kept. */
function recordToJson({ definition, composition, exec, maker, createdAtMs }: ToolRecord): JsonObject {
  return {
    definition: toPublicDefinition(definition),
    ...(composition && compositionJson(composition)),
    ...(exec && { exec: execJson(exec) }),
    maker,
    created_at_ms: createdAtMs,
  };
}

/** Throws VALIDATION_ERROR for what is no record of this or an earlier version of the hub. */
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

/** A tool as somebody sends it: what it says of itself, and what is to run. */
export interface RegistrationRequest {
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
 * Reads the record of the HTTP tool service (`input_schema` or `id`) or the public definition, each with `steps` and
 * `result`, or `exec`. VALIDATION_ERROR with a JSON pointer.
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

const SPACE = 'registered_tool';

/** The registered tools on the disk. */
export class ToolRecordStore {
  readonly #store: KeyValueStore;
  readonly #logger: Logger;

  constructor({ store, logger }: { readonly store: KeyValueStore; readonly logger: Logger }) {
    this.#store = store;
    this.#logger = logger;
  }

  /** STORAGE_FAILED, PAYLOAD_TOO_LARGE. */
  keep(record: ToolRecord): void {
    this.#store.set(SPACE, toolId(record.definition), recordToJson(record));
  }

  forget(id: string): void {
    this.#store.delete(SPACE, id);
  }

  /** One that cannot be read stays on the disk and is told in the log: a newer hub may have written it. */
  all(): readonly ToolRecord[] {
    return this.#store.entries(SPACE).flatMap(({ key, value }) => {
      try {
        return [recordFromJson(value)];
      } catch (thrown) {
        this.#logger.warn('tools.record_unreadable', { tool: key, problem: toAtmoError(thrown).message });
        return [];
      }
    });
  }
}
