import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject } from '../../core/json.ts';
import { sha256Hex } from '../../wire/hashes.ts';
import { whileConfigured, withoutSetting } from '../definition/missing-setting.ts';
import { normalizeDefinition, parameterNames } from '../definition/normalize-definition.ts';
import type { RegisteredTool, ToolDefinition } from '../definition/tool-definition.ts';
import { toolId } from '../definition/tool-name.ts';
import type { ProgramSandbox } from '../programs/program-sandbox.ts';
import { boundedWorld } from '../programs/program-world.ts';
import { sandboxedModule, visiblePlaces } from '../programs/sandboxed-module.ts';
import type { ScriptEngine } from '../programs/script-engine.ts';
import { meteredModule } from '../programs/wasm-fuel.ts';
import { heapProblem } from '../programs/wasm-heap.ts';
import { mostMemoryBytes } from '../programs/wasm-memory.ts';
import { argumentParameters } from '../registration/exec-arguments.ts';
import type { ExecRecord } from '../registration/exec-record.ts';
import { execDefinition, execTool, NO_SANDBOX, requireRealWorld } from '../registration/exec-tool.ts';
import type { ManifestEntry } from './manifest-entry.ts';

const SCRIPT_MEMORY = 16 * 1_048_576;
const MAX_SCRIPT_BYTES = 4 * 1_048_576;

/** The tool of `cmd:` and `image:`. Errors as those of a definition; VALIDATION_ERROR, RULE_BLOCKED. */
export function programTool(
  { source, args, stdin, powers, ...entry }: ManifestEntry,
  programs: ProgramSandbox | undefined,
): RegisteredTool {
  const draft = definitionOf(entry);
  requireRealWorld(draft);
  const place =
    source.kind === 'image' ? ({ type: 'image', image: source.target } as const) : ({ type: 'cmd', cmd: source.target } as const);
  const exec: ExecRecord = { ...place, ...(args && { args }), ...(stdin !== undefined && { stdin }), ...(powers && { powers }) };
  const unknown = argumentParameters(args ?? []).find((name) => !parameterNames(draft).includes(name));
  if (unknown !== undefined) throw invalid(`args holds {${unknown}}, which is no parameter of the tool`);
  requirePowers(powers, programs);
  if (source.kind === 'cmd') programs?.requireSafe([source.target, ...(args ?? [])]);
  return execTool(execDefinition(draft, exec, programs), exec, programs);
}

/** The tool of a file with `sandbox: true`; its code is not even loaded into the hub. With powers it counts as a program with them. */
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
  if (!programs) return withoutSetting(plain, NO_SANDBOX);
  const module = { specifier, entry, config, powers, visible: visiblePlaces(specifier, manifestFile) };
  const program = fileURLToPath(specifier);
  const plan = () =>
    ({ kind: 'module', program, args: [], ...programs.outlook({ program, args: [], powers, visible: [program] }) }) as const;
  const tool = {
    ...plain,
    implementation: () => ({ entry, config }),
    program: plan,
    handler: sandboxedModule(module, definition, programs),
  };
  return whileConfigured(tool, () => programs.missingSetting('cmd'));
}

/** The tool of `js:` and `wasm:`: text or bytes that are read once and interpreted for each call. */
export function scriptTool(
  { source, config, ...entry }: ManifestEntry,
  specifier: string,
  scripts: ScriptEngine | undefined,
): RegisteredTool {
  if (!scripts) throw invalid('this hub interprets no scripts');
  const kind = source.kind === 'wasm' ? 'wasm' : 'js';
  const definition = definitionOf(entry);
  const { maxMemoryBytes = SCRIPT_MEMORY, maxFuel } = definition.execution;
  const file = readFileSync(fileURLToPath(specifier));
  if (file.length > MAX_SCRIPT_BYTES) throw invalid(`${source.target} is longer than ${MAX_SCRIPT_BYTES} bytes`);
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
      const world = boundedWorld(definition, context);
      return scripts.run({ kind, code, params, config, world, ...bounds, signal: context.signal });
    },
  };
}

/** The definition of an entry in the internal form: the manifest's name counts, whatever the code calls itself. */
export function definitionOf({ definition, name }: Pick<ManifestEntry, 'definition' | 'name'>): ToolDefinition {
  const { tool = definition } = definition ?? {};
  return normalizeDefinition(isJsonObject(tool) ? { ...tool, name } : { name });
}

function requirePowers(powers: readonly string[] = [], programs: ProgramSandbox | undefined): void {
  const unknown = programs && powers.find((name) => !programs.power(name));
  if (unknown !== undefined) throw invalid(`there is no power ${unknown}; set connectors.sandbox.powers.${unknown} in the configuration`);
}

function requireBoundedModule(code: Uint8Array, maxMemoryBytes: number): void {
  const most = mostMemoryBytes(code);
  if (most === undefined) throw invalid('the file is no WebAssembly module');
  if (most > maxMemoryBytes) throw invalid(`its memory can grow to ${most} bytes, and may to ${maxMemoryBytes}; link it with --max-memory`);
  const problem = heapProblem(code);
  if (problem !== undefined) throw invalid(problem);
}

function invalid(problem: string): AtmoError {
  return new AtmoError('CONFIG_INVALID', problem);
}
