import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Document, isNode, LineCounter, parseDocument } from 'yaml';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { normalizeDefinition } from '../definition/normalize-definition.ts';
import type { ToolCompanions } from '../definition/tool-companions.ts';
import type { RegisteredTool, ToolContext } from '../definition/tool-definition.ts';
import { toolId } from '../definition/tool-name.ts';
import { isolatedHandler } from '../programs/isolated-handler.ts';
import type { ProgramSandbox } from '../programs/program-sandbox.ts';
import type { ScriptEngine } from '../programs/script-engine.ts';
import { copyJson } from '../schema/plain-json.ts';
import { type ManifestEntry, readManifestEntry } from './manifest-entry.ts';
import { programTool, sandboxedTool, scriptTool } from './manifest-tools.ts';
import { RecordReader } from './record-reader.ts';
import { trustedPath } from './trusted-path.ts';

/**
 * What a plugin's or file's entry function answers for its `config`. With `max_memory_bytes` in its definition each call
 * runs in a process of its own, where `execute` gets no context.
 */
export interface ToolModule {
  /** In the public form; the manifest's name replaces its own. */
  readonly definition: unknown;
  execute(params: JsonObject, context: ToolContext): Promise<Json>;
  /** Not with `max_memory_bytes`: these run in the hub. */
  readonly companions?: ToolCompanions;
}

/** Where manifest entries get their code from. */
export interface ManifestSources {
  /** Makers of built-in tools by module name. */
  readonly builtins: ReadonlyMap<string, (name: string, config: JsonObject) => RegisteredTool>;
  /** Installed packages that may be loaded. */
  readonly allowedPlugins: readonly string[];
  /** Loads an ES module by package name or file URL. */
  readonly importModule?: (specifier: string) => Promise<unknown>;
  /** User that the service runs as; the process's own when absent. */
  readonly uid?: number;
  /** Where programs and sandboxed files run; without it they are listed as unavailable. */
  readonly programs?: ProgramSandbox;
  /** What interprets `js:` and `wasm:`; CONFIG_INVALID for such an entry without it. */
  readonly scripts?: ScriptEngine;
}

/** The tools of a manifest file, YAML or JSON. CONFIG_INVALID names file and line. */
export async function loadManifest(path: string, sources: ManifestSources): Promise<readonly RegisteredTool[]> {
  const entries = parseManifest(readText(path), path);
  trustedPath(path, sources.uid ?? process.getuid?.() ?? 0);
  return Promise.all(entries.map((entry) => loadEntry(entry, path, sources)));
}

/** The entries of a manifest's text; CONFIG_INVALID names `file` and line for unknown keys and wrong values. */
export function parseManifest(text: string, file: string): readonly ManifestEntry[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, prettyErrors: false });
  const [problem] = document.errors;
  if (problem) throw configError(`${file}:${lines.linePos(problem.pos[0]).line}: ${problem.message}`);
  try {
    return readEntries(document.toJS({ maxAliasCount: 0 }));
  } catch (error) {
    if (!(error instanceof AtmoError)) throw error;
    throw configError(`${file}:${lineOf(document, lines, String(error.details.pointer ?? ''))}: ${error.message}`);
  }
}

function readEntries(value: unknown): readonly ManifestEntry[] {
  const reader = new RecordReader(copyJson(value ?? {}));
  const entries = reader.children('tools').map(readManifestEntry);
  reader.end();
  return entries;
}

async function loadEntry(entry: ManifestEntry, path: string, sources: ManifestSources): Promise<RegisteredTool> {
  const { kind, target } = entry.source;
  try {
    if (kind === 'cmd' || kind === 'image') return programTool(entry, sources.programs);
    const ownFile = () => fileSpecifier(target, path, sources.uid ?? process.getuid?.() ?? 0);
    if (kind === 'js' || kind === 'wasm') return scriptTool(entry, ownFile(), sources.scripts);
    if (entry.isSandboxed) return sandboxedTool(entry, { specifier: ownFile(), manifestFile: path }, sources.programs);
  } catch (thrown) {
    throw configError(`${path}: ${entry.name}: ${toAtmoError(thrown).message}`);
  }
  if (kind === 'builtin') {
    const make = sources.builtins.get(target);
    if (!make)
      throw configError(`${path}: ${entry.name}: there is no builtin ${target}; there is ${[...sources.builtins.keys()].join(', ')}`);
    return make(entry.name, entry.config);
  }
  if (kind === 'plugin' && !sources.allowedPlugins.includes(target)) {
    throw configError(`${path}: ${entry.name}: the plugin ${target} is not allowed; add it to the allowed plugins`);
  }
  const specifier = kind === 'plugin' ? target : fileSpecifier(target, path, sources.uid ?? process.getuid?.() ?? 0);
  return fromModule(entry, path, { specifier, loaded: await importFrom(specifier, sources) });
}

function fileSpecifier(target: string, manifestPath: string, uid: number): string {
  return pathToFileURL(trustedPath(resolve(dirname(manifestPath), target), uid)).href;
}

async function importFrom(specifier: string, sources: ManifestSources): Promise<unknown> {
  try {
    return await (sources.importModule?.(specifier) ?? import(specifier));
  } catch (error) {
    throw new AtmoError('CONFIG_INVALID', `${specifier} cannot be loaded: ${error instanceof Error ? error.message : 'unknown reason'}`);
  }
}

function fromModule(entry: ManifestEntry, path: string, { specifier, loaded }: { specifier: string; loaded: unknown }): RegisteredTool {
  const create: unknown = typeof loaded === 'object' && loaded !== null ? Reflect.get(loaded, entry.entry) : undefined;
  if (typeof create !== 'function') throw configError(`${path}: ${entry.name}: the module exports no function ${entry.entry}`);
  const made: unknown = create(entry.config);
  if (!isToolModule(made)) throw configError(`${path}: ${entry.name}: ${entry.entry}() has to answer { definition, execute }`);
  const definition = { ...normalizeDefinition(made.definition), name: entry.name };
  const { maxMemoryBytes } = definition.execution;
  const id = toolId(definition);
  if (maxMemoryBytes === undefined) {
    const { companions } = made;
    return { id, definition, handler: (params, context) => made.execute(params, context), ...(companions && { companions }) };
  }
  const code = { specifier: moduleUrl(specifier), entry: entry.entry, config: entry.config, maxMemoryBytes };
  return { id, definition, isolation: 'process', handler: isolatedHandler(code) };
}

/** Code given on a command line finds no packages: it gets the file that a package's name means here. */
function moduleUrl(specifier: string): string {
  return specifier.startsWith('file:') ? specifier : import.meta.resolve(specifier);
}

function isToolModule(value: unknown): value is ToolModule {
  return typeof value === 'object' && value !== null && 'definition' in value && 'execute' in value && typeof value.execute === 'function';
}

/** Line of the member that a pointer names, or of the nearest one around it that is there. */
function lineOf(document: Document, lines: LineCounter, pointer: string): number {
  const path = pointer
    .split('/')
    .slice(1)
    .map((segment) => (/^\d+$/.test(segment) ? Number(segment) : segment));
  for (let length = path.length; length >= 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw configError(`The tool manifest ${path} cannot be read; create it or take it out of the configuration`);
  }
}

function configError(message: string): AtmoError {
  return new AtmoError('CONFIG_INVALID', message);
}
