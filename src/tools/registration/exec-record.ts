import type { JsonObject } from '../../core/json.ts';
import type { RecordReader } from '../record-reader.ts';

/** A program that a record of the HTTP tool service names (source 003, data model). It is kept; this hub runs none. */
export interface ExecRecord {
  readonly type: 'cmd' | 'image';
  readonly cmd?: string;
  readonly args?: readonly string[];
  readonly image?: string;
}

const PLACEHOLDER = /\{(\w+)\}/g;
const PROGRAM = /^[A-Za-z0-9_.+/-]{1,256}$/;

/** Reads `exec`; undefined where there is none. Placeholders `{param}` in its arguments have to be among `parameters`. */
export function readExec(reader: RecordReader, parameters: readonly string[]): ExecRecord | undefined {
  if (!reader.has('exec')) return undefined;
  const exec = reader.child('exec');
  const type = exec.oneOf('type', ['cmd', 'image']);
  const cmd = exec.text('cmd');
  const image = exec.text('image');
  const args = exec.texts('args');
  exec.end();
  if (type === undefined) throw exec.refuse('type', 'is missing: cmd or image');
  if (type === 'cmd' && !PROGRAM.test(cmd ?? '')) throw exec.refuse('cmd', 'has to be one program, by path or name; arguments go to args');
  if (type === 'image' && image === undefined) throw exec.refuse('image', 'is missing');
  const unknown = placeholders(args).find((name) => !parameters.includes(name));
  if (unknown !== undefined) throw exec.refuse('args', `holds {${unknown}}, which is no parameter of the tool`);
  return { type, ...(cmd !== undefined && { cmd }), ...(args && { args }), ...(image !== undefined && { image }) };
}

/** The form in which it is kept and was sent. */
export function execJson(exec: ExecRecord): JsonObject {
  return { ...exec };
}

function placeholders(args: readonly string[] = []): readonly string[] {
  return args.flatMap((arg) => [...arg.matchAll(PLACEHOLDER)].map(([, name = '']) => name));
}
