import type { JsonObject } from '../../core/json.ts';
import type { RecordReader } from '../manifest/record-reader.ts';
import type { ProgramKind } from '../programs/program-sandbox.ts';
import { argumentParameters } from './exec-arguments.ts';

/** A program that a record of the HTTP tool service names (source 003, data model). */
export interface ExecRecord {
  readonly type: ProgramKind;
  readonly cmd?: string;
  readonly args?: readonly string[];
  readonly image?: string;
  /** Parameter that the program reads from its standard input; one called `stdin` when absent. */
  readonly stdin?: string;
  /** Names of powers of the owner's configuration. */
  readonly powers?: readonly string[];
}

const PROGRAM = /^[A-Za-z0-9_.+/-]{1,256}$/;
const IMAGE = /^[a-z0-9][A-Za-z0-9_.:/@-]{0,255}$/;
const POWER = /^[a-z][a-z0-9_-]{0,31}$/;
const MAX_ARGS = 64;
const MAX_POWERS = 16;

/** Reads `exec`; undefined where there is none. Placeholders `{param}` in its arguments have to be among `parameters`. */
export function readExec(reader: RecordReader, parameters: readonly string[]): ExecRecord | undefined {
  if (!reader.has('exec')) return undefined;
  const exec = reader.child('exec');
  const type = exec.oneOf('type', ['cmd', 'image']);
  if (type === undefined) throw exec.refuse('type', 'is missing: cmd or image');
  const cmd = exec.text('cmd');
  const image = exec.text('image');
  if (type === 'cmd' && !PROGRAM.test(cmd ?? '')) throw exec.refuse('cmd', 'has to be one program, by path or name; arguments go to args');
  if (type === 'image' && !IMAGE.test(image ?? '')) throw exec.refuse('image', 'has to be the name of an image');
  const rest = readArguments(exec, parameters);
  exec.end();
  return { type, ...(cmd !== undefined && { cmd }), ...(image !== undefined && { image }), ...rest };
}

/** `args`, `stdin` and `powers` of a program, as a record or an entry of a manifest has them. */
export function readArguments(
  reader: RecordReader,
  parameters: readonly string[] | undefined,
): Pick<ExecRecord, 'args' | 'stdin' | 'powers'> {
  const args = reader.texts('args');
  const stdin = reader.text('stdin');
  const powers = reader.texts('powers');
  if ((args ?? []).length > MAX_ARGS) throw reader.refuse('args', `may have at most ${MAX_ARGS} arguments`);
  const unknown = argumentParameters(args ?? []).find((name) => parameters && !parameters.includes(name));
  if (unknown !== undefined) throw reader.refuse('args', `holds {${unknown}}, which is no parameter of the tool`);
  if (stdin !== undefined && parameters && !parameters.includes(stdin)) throw reader.refuse('stdin', 'has to be a parameter of the tool');
  const isNamed = (powers ?? []).length <= MAX_POWERS && (powers ?? []).every((power) => POWER.test(power));
  if (!isNamed) throw reader.refuse('powers', 'has to list names of powers in connectors.sandbox.powers of the configuration');
  return { ...(args && { args }), ...(stdin !== undefined && { stdin }), ...(powers && { powers }) };
}

/** The form in which it is kept and was sent. */
export function execJson(exec: ExecRecord): JsonObject {
  return { ...exec };
}
