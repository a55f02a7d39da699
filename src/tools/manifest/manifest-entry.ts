import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { sha256Hex } from '../../codec/hashes.ts';
import { invalidConfig } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { normalizeDefinition, parameterNames } from '../definition/public-definition.ts';
import { type RegisteredTool, type ToolDefinition, unconfigured, whileConfigured } from '../definition/tool-definition.ts';
import { toolId } from '../definition/tool-names.ts';
import { boundedEnvironment, type ProgramSandbox, type ScriptEngine } from '../programs/program-sandbox.ts';
import {
  argumentParameters,
  type ExecRecord,
  execDefinition,
  execTool,
  NO_SANDBOX,
  readArguments,
  refuseBoundedDeterminism,
} from '../programs/program-tool.ts';
import { sandboxedModule, visiblePaths } from '../programs/sandboxed-module.ts';
import { engineHeapProblem, meteredModule, moduleMemoryLimit } from '../programs/wasm-limits.ts';
import type { RecordReader } from '../schema/record-reader.ts';

const KINDS = ['builtin', 'plugin', 'file', 'cmd', 'image', 'js', 'wasm'] as const;
/** Sources whose entries must contain a definition. */
const KINDS_WITH_DEFINITION: readonly string[] = ['cmd', 'image', 'js', 'wasm'];
const SOURCE_FORMS = 'builtin:<module>, plugin:<package>, file:<path>, cmd:<program>, image:<image>, js:<path> or wasm:<path>';
const DEFAULT_ENTRY = 'createTool';

/** An entry of `tools.yaml`. */
export interface ManifestEntry {
  readonly name: string;
  readonly source: { readonly kind: (typeof KINDS)[number]; readonly target: string };
  readonly config: JsonObject;
  /** Name of the exported function of a plugin or file; default: `createTool`. */
  readonly entry: string;
  readonly definition?: JsonObject;
  /** Arguments of the program, as in `exec` of a record. */
  readonly args?: readonly string[];
  readonly stdin?: string;
  /** Names of powers, which are sets of rights in the owner's configuration (`connectors.sandbox.powers`). */
  readonly powers?: readonly string[];
  /** Expected hash of the plugin's files; default: the files are not compared. */
  readonly integrity?: string;
  /** True if the file's code runs only in the sandbox, never in the hub's process. */
  readonly isSandboxed: boolean;
}

/** Reads an entry. Throws VALIDATION_ERROR with a JSON pointer for a mistake. */
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
  if (kind === undefined || target === '') throw reader.refuse('source', `has to be ${SOURCE_FORMS}`);
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
  const isDescribedHere = isSandboxed || KINDS_WITH_DEFINITION.includes(kind);
  if (isDescribedHere && !definition)
    throw reader.refuse('definition', 'is missing: description, parameters, requires and execution of the tool');
  if (!isDescribedHere && definition) throw reader.refuse('definition', `is what the code of ${kind}: itself says; leave it out`);
}

const SCRIPT_MEMORY = 16 * 1_048_576;
const MAX_SCRIPT_BYTES = 4 * 1_048_576;

/**
 * Returns the tool of a `cmd:` or `image:` entry. Throws VALIDATION_ERROR or CONFIG_INVALID if the entry has a mistake, and RULE_BLOCKED if
 * a safety rule forbids the command.
 */
export function programTool(
  { source, args, stdin, powers, ...entry }: ManifestEntry,
  programs: ProgramSandbox | undefined,
): RegisteredTool {
  const draft = definitionOf(entry);
  refuseBoundedDeterminism(draft);
  const place =
    source.kind === 'image' ? ({ type: 'image', image: source.target } as const) : ({ type: 'cmd', cmd: source.target } as const);
  const exec: ExecRecord = { ...place, ...(args && { args }), ...(stdin !== undefined && { stdin }), ...(powers && { powers }) };
  const unknown = argumentParameters(args ?? []).find((name) => !parameterNames(draft).includes(name));
  if (unknown !== undefined) throw invalidConfig(`args holds {${unknown}}, which is no parameter of the tool`);
  requirePowers(powers, programs);
  if (source.kind === 'cmd') programs?.requireSafe([source.target, ...(args ?? [])]);
  return execTool(execDefinition(draft, exec, programs), exec, programs);
}

/** Returns the tool of a `file:` entry that has `sandbox: true`. If the entry has powers, callers need the permissions for programs. */
export function sandboxedTool(
  { powers = [], entry, config, ...rest }: ManifestEntry,
  { specifier, manifestFile }: { readonly specifier: string; readonly manifestFile: string },
  programs: ProgramSandbox | undefined,
): RegisteredTool {
  requirePowers(powers, programs);
  const draft = definitionOf(rest);
  const definition = powers.length > 0 ? execDefinition(draft, { type: 'cmd', powers }, programs) : draft;
  const id = toolId(definition);
  const plain: RegisteredTool = { id, definition, isolation: 'process', handler: async () => null };
  if (!programs) return unconfigured(plain, NO_SANDBOX);
  const module = { specifier, entry, config, powers, visible: visiblePaths(specifier, manifestFile) };
  const program = fileURLToPath(specifier);
  const plan = () =>
    ({ kind: 'module', program, args: [], ...programs.inspect({ program, args: [], powers, visible: [program] }) }) as const;
  const tool = {
    ...plain,
    implementation: () => ({ entry, config }),
    program: plan,
    handler: sandboxedModule(module, definition, programs),
  };
  return whileConfigured(tool, () => programs.missingSetting('cmd'));
}

/** Returns the tool of a `js:` or `wasm:` entry. The file is read once, and its code is interpreted at each call. */
export function scriptTool(
  { source, config, ...entry }: ManifestEntry,
  specifier: string,
  scripts: ScriptEngine | undefined,
): RegisteredTool {
  if (!scripts) throw invalidConfig('this hub interprets no scripts');
  const kind = source.kind === 'wasm' ? 'wasm' : 'js';
  const definition = definitionOf(entry);
  const { maxMemoryBytes = SCRIPT_MEMORY, maxFuel } = definition.execution;
  const file = readFileSync(fileURLToPath(specifier));
  if (file.length > MAX_SCRIPT_BYTES) throw invalidConfig(`${source.target} is longer than ${MAX_SCRIPT_BYTES} bytes`);
  if (kind === 'wasm') requireBoundedModule(file, maxMemoryBytes);
  const code = kind === 'wasm' && maxFuel !== undefined ? meteredModule(file, maxFuel) : file;
  const bounds = { maxMemoryBytes, ...(maxFuel !== undefined && { maxFuel }) };
  return {
    id: toolId(definition),
    definition,
    isolation: 'script',
    implementation: () => ({ kind, config }),
    program: () => ({ kind: 'script', program: source.target, args: [], powers: [], versions: [sha256Hex(file)] }),
    handler: (params, context) => {
      const world = boundedEnvironment(definition, context);
      return scripts.run({ kind, code, params, config, world, ...bounds, signal: context.signal });
    },
  };
}

/** Returns a definition in the internal form. The name in the manifest replaces the definition's own name. */
export function definitionOf({ definition, name }: Pick<ManifestEntry, 'definition' | 'name'>): ToolDefinition {
  const { tool = definition } = definition ?? {};
  return normalizeDefinition(isJsonObject(tool) ? { ...tool, name } : { name });
}

function requirePowers(powers: readonly string[] = [], programs: ProgramSandbox | undefined): void {
  const unknown = programs && powers.find((name) => !programs.power(name));
  if (unknown !== undefined)
    throw invalidConfig(`there is no power ${unknown}; set connectors.sandbox.powers.${unknown} in the configuration`);
}

function requireBoundedModule(code: Uint8Array, maxMemoryBytes: number): void {
  const most = moduleMemoryLimit(code);
  if (most === undefined) throw invalidConfig('the file is no WebAssembly module');
  if (most > maxMemoryBytes)
    throw invalidConfig(`its memory can grow to ${most} bytes, and may to ${maxMemoryBytes}; link it with --max-memory`);
  const problem = engineHeapProblem(code);
  if (problem !== undefined) throw invalidConfig(problem);
}
