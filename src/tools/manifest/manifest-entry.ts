import type { JsonObject } from '../../core/json.ts';
import { readArguments } from '../registration/exec-record.ts';
import type { RecordReader } from './record-reader.ts';

const KINDS = ['builtin', 'plugin', 'file', 'cmd', 'image', 'js', 'wasm'] as const;
/** What brings no description of itself. */
const DESCRIBED_HERE: readonly string[] = ['cmd', 'image', 'js', 'wasm'];
const FORMS = 'builtin:<module>, plugin:<package>, file:<path>, cmd:<program>, image:<image>, js:<path> or wasm:<path>';
const DEFAULT_ENTRY = 'createTool';

/** One entry of `tools.yaml` (source 000 §2, manifest files). */
export interface ManifestEntry {
  readonly name: string;
  readonly source: { readonly kind: (typeof KINDS)[number]; readonly target: string };
  readonly config: JsonObject;
  /** Exported function of a plugin or file; `createTool` when absent. */
  readonly entry: string;
  /** What the tool says of itself, in the public form, where its code does not say it. */
  readonly definition?: JsonObject;
  /** Of a program, as in `exec` of a record. */
  readonly args?: readonly string[];
  readonly stdin?: string;
  /** Names of powers of the owner's configuration. */
  readonly powers?: readonly string[];
  /** The files that a plugin has, as the owner has seen them; any when absent. */
  readonly integrity?: string;
  /** The code of a file runs in the sandbox, and never in the hub. */
  readonly isSandboxed: boolean;
}

/** Reads one entry. VALIDATION_ERROR with a JSON pointer. */
export function readManifestEntry(reader: RecordReader): ManifestEntry {
  const source = readSource(reader);
  const definition = reader.object('definition');
  const integrity = reader.text('integrity');
  const entry = {
    name: reader.requiredText('name'),
    source,
    config: reader.object('config') ?? {},
    entry: reader.text('entry') ?? DEFAULT_ENTRY,
    ...(definition && { definition }),
    ...(integrity !== undefined && { integrity }),
    ...readArguments(reader, undefined),
    isSandboxed: reader.flag('sandbox') ?? false,
  };
  reader.end();
  requireFitting(reader, entry);
  return entry;
}

function readSource(reader: RecordReader): ManifestEntry['source'] {
  const text = reader.requiredText('source');
  const kind = KINDS.find((known) => text.startsWith(`${known}:`));
  const target = kind === undefined ? '' : text.slice(kind.length + 1);
  if (kind === undefined || target === '') throw reader.refuse('source', `has to be ${FORMS}`);
  return { kind, target };
}

function requireFitting(
  reader: RecordReader,
  { source: { kind }, definition, args, stdin, powers, integrity, isSandboxed }: ManifestEntry,
): void {
  if (integrity !== undefined && kind !== 'plugin') throw reader.refuse('integrity', 'is for source: plugin:<package>');
  const isProgram = kind === 'cmd' || kind === 'image';
  if (isSandboxed && kind !== 'file')
    throw reader.refuse('sandbox', 'is for source: file:<path>; programs and scripts are apart by themselves');
  if ((args ?? stdin) !== undefined && !isProgram)
    throw reader.refuse(args ? 'args' : 'stdin', 'is for source: cmd:<program> and image:<image>');
  if (powers && !isProgram && !isSandboxed) throw reader.refuse('powers', 'is for programs, and for files with sandbox: true');
  const isDescribedHere = isSandboxed || DESCRIBED_HERE.includes(kind);
  if (isDescribedHere && !definition)
    throw reader.refuse('definition', 'is missing: description, parameters, requires and execution of the tool');
  if (!isDescribedHere && definition) throw reader.refuse('definition', `is what the code of ${kind}: itself says; leave it out`);
}
