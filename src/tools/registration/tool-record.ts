import type { Json, JsonObject } from '../../core/json.ts';
import { normalizeDefinition, parameterNames } from '../definition/normalize-definition.ts';
import type { ToolDefinition } from '../definition/tool-definition.ts';
import { toPublicDefinition } from '../forms/public-definition.ts';
import { RecordReader } from '../manifest/record-reader.ts';
import { type Composition, compositionJson, readComposition } from './composition.ts';
import { type ExecRecord, execJson, readExec } from './exec-record.ts';

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
export function recordToJson({ definition, composition, exec, maker, createdAtMs }: ToolRecord): JsonObject {
  return {
    definition: toPublicDefinition(definition),
    ...(composition && compositionJson(composition)),
    ...(exec && { exec: execJson(exec) }),
    maker,
    created_at_ms: createdAtMs,
  };
}

/** Throws VALIDATION_ERROR for what is no record of this or an earlier version of the hub. */
export function recordFromJson(value: Json): ToolRecord {
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
