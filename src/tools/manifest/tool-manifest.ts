import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { AtmoError } from '../../core/errors.ts';
import { type AcceptedText, saveAccepted } from '../../core/files/owner-file.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { RegisteredTool, ToolCompanions, ToolContext } from '../definition/tool-definition.ts';
import { toolId } from '../definition/tool-names.ts';
import { isolatedHandler } from '../programs/node-process.ts';
import type { ProgramSandbox, ScriptEngine } from '../programs/program-sandbox.ts';
import { RecordReader } from '../schema/record-reader.ts';
import { definitionOf, type ManifestEntry, programTool, readManifestEntry, sandboxedTool, scriptTool } from './manifest-entry.ts';
import { PluginPackage } from './plugin-package.ts';
import { type FileRecord, type RecordFile, readRecordFile, type SkippedRecord, skippedRecord, trustedPath } from './record-file.ts';

/**
 * What a plugin's or file's entry function answers for its `config`. With `max_memory_bytes` in its definition each call
 * runs in a process of its own, where `execute` gets no context.
 */
export interface ToolModule {
  /** In the public form; the manifest's name replaces its own. */
  readonly definition: JsonObject;
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
  /** Where the text of the manifest that was taken last is kept. */
  readonly takenOf: (path: string) => AcceptedText;
  /** User that the service runs as; the process's own when absent. */
  readonly uid?: number;
  /** Where programs and sandboxed files run; without it they are listed as unavailable. */
  readonly programs?: ProgramSandbox;
  /** What interprets `js:` and `wasm:`; CONFIG_INVALID for such an entry without it. */
  readonly scripts?: ScriptEngine;
}

interface ChangedPlugin {
  readonly name: string;
  readonly integrity: string;
}

/** The tools of a manifest, and what of it the hub does without. */
export interface Manifest {
  readonly tools: readonly RegisteredTool[];
  readonly leftOut: readonly SkippedRecord[];
  /** Plugins whose files are others than when they were loaded last, and their `integrity` now. */
  readonly changedPlugins: readonly ChangedPlugin[];
  /** All that it holds, what is left out too. */
  readonly records: readonly FileRecord[];
  /** Why the tools are those of the manifest that was taken last; absent when they are those of the file. */
  readonly stale?: SkippedRecord;
}

/** An entry of a manifest that is well formed, and where it stands. */
export interface LocatedEntry {
  readonly entry: ManifestEntry;
  readonly record: FileRecord;
}

/** The entries of a manifest's records; none of the code that they name is loaded. */
export function manifestEntries({ records, leftOut: unread }: RecordFile): {
  readonly entries: readonly LocatedEntry[];
  readonly leftOut: readonly SkippedRecord[];
} {
  const entries: LocatedEntry[] = [];
  const refused: SkippedRecord[] = [...unread];
  for (const record of records) {
    try {
      entries.push({ entry: readManifestEntry(new RecordReader(record.body)), record });
    } catch (thrown) {
      const { name } = record.body;
      refused.push(skippedRecord(record, typeof name === 'string' ? name : undefined, thrown));
    }
  }
  return { entries, leftOut: refused };
}

/**
 * Reads a manifest file, YAML or JSON, and loads the code that it names; `take` gets each tool and may refuse it. Never throws: a
 * mistake costs the entry in which it is.
 */
export async function loadManifest(
  path: string,
  sources: ManifestSources,
  take: (tool: RegisteredTool) => void = () => undefined,
): Promise<Manifest> {
  const uid = sources.uid ?? process.getuid?.() ?? 0;
  const file = readRecordFile(path, { takenOf: sources.takenOf, uid });
  const { entries, leftOut: unread } = manifestEntries(file);
  const tools: RegisteredTool[] = [];
  const refused: SkippedRecord[] = [...unread];
  const changedPlugins: ChangedPlugin[] = [];
  for (const { entry, record } of entries) {
    try {
      const tool = await toolOf(entry, { path, uid, sources, onChange: (plugin) => changedPlugins.push(plugin) });
      take(tool);
      tools.push(tool);
    } catch (thrown) {
      refused.push(skippedRecord(record, entry.name, thrown));
    }
  }
  return { tools, leftOut: refused, changedPlugins, records: file.records, ...(file.stale && { stale: file.stale }) };
}

interface LoadContext {
  /** The manifest's own path. */
  readonly path: string;
  readonly uid: number;
  readonly sources: ManifestSources;
  readonly onChange: (plugin: ChangedPlugin) => void;
}

async function toolOf(entry: ManifestEntry, place: LoadContext): Promise<RegisteredTool> {
  const { path, uid, sources } = place;
  const { kind, target } = entry.source;
  const ownFile = () => pathToFileURL(trustedPath(resolve(dirname(path), target), uid)).href;
  if (kind === 'cmd' || kind === 'image') return programTool(entry, sources.programs);
  if (kind === 'js' || kind === 'wasm') return scriptTool(entry, ownFile(), sources.scripts);
  if (entry.isSandboxed) return sandboxedTool(entry, { specifier: ownFile(), manifestFile: path }, sources.programs);
  if (kind === 'builtin') {
    const make = sources.builtins.get(target);
    if (!make) throw configError(`there is no builtin ${target}; there is ${[...sources.builtins.keys()].join(', ')}`);
    return make(entry.name, entry.config);
  }
  if (kind === 'file') return moduleTool(entry, { specifier: ownFile() });
  const plugin = pluginOf(entry, place);
  const specifier = pathToFileURL(plugin.file).href;
  return moduleTool(entry, { specifier, integrity: plugin.integrity, requireUnchanged: () => plugin.requireUnchanged() });
}

/** CONFIG_INVALID for a package that the owner has not allowed, or that is not the one which the owner has seen. */
function pluginOf({ source: { target: name }, integrity }: ManifestEntry, { path, uid, sources, onChange }: LoadContext): PluginPackage {
  if (!sources.allowedPlugins.includes(name)) throw configError(`the plugin ${name} is not allowed; add it to tools.plugins`);
  const plugin = new PluginPackage(name, { manifest: path, uid });
  const isSame = integrity === undefined || integrity === plugin.integrity;
  const last = sources.takenOf(join(dirname(path), 'node_modules', name));
  if (isSame && last.get() !== plugin.integrity) {
    if (last.get() !== undefined) onChange({ name, integrity: plugin.integrity });
    saveAccepted(last, plugin.integrity);
  }
  if (isSame) return plugin;
  const now = `its files are ${plugin.integrity} now; look at them, and write that into the entry if they are meant`;
  throw configError(`the plugin ${name} is not the one that integrity names: ${now}`);
}

async function importFrom(specifier: string): Promise<unknown> {
  try {
    return await import(specifier);
  } catch (error) {
    throw configError(`${specifier} cannot be loaded: ${error instanceof Error ? error.message : 'unknown reason'}`);
  }
}

/** Code that the hub loads. */
interface LoadedCode {
  readonly specifier: string;
  /** Of a package. */
  readonly integrity?: string;
  /** Throws where the files are no longer those that were looked at. */
  readonly requireUnchanged?: () => void;
}

async function moduleTool(entry: ManifestEntry, { specifier, integrity = '', requireUnchanged }: LoadedCode): Promise<RegisteredTool> {
  const made = createModule(await importFrom(specifier), entry);
  const definition = definitionOf({ name: entry.name, definition: made.definition });
  const { maxMemoryBytes } = definition.execution;
  const implementation = () => ({ specifier, integrity, entry: entry.entry, config: entry.config });
  const tool = { id: toolId(definition), definition, implementation };
  if (maxMemoryBytes === undefined) {
    const { companions } = made;
    return { ...tool, handler: (params, context) => made.execute(params, context), ...(companions && { companions }) };
  }
  const handler = isolatedHandler({ specifier, entry: entry.entry, config: entry.config, maxMemoryBytes }, definition);
  return {
    ...tool,
    isolation: 'process',
    // Each call loads the code anew.
    handler: async (params, context) => {
      requireUnchanged?.();
      return handler(params, context);
    },
  };
}

/** What somebody else's function throws is a mistake of that function, not of the hub. */
function createModule(loaded: unknown, { entry, config }: ManifestEntry): ToolModule {
  const create: unknown = typeof loaded === 'object' && loaded !== null ? Reflect.get(loaded, entry) : undefined;
  if (typeof create !== 'function') throw configError(`the module exports no function ${entry}`);
  let made: unknown;
  try {
    made = create(config);
  } catch (thrown) {
    throw configError(`${entry}() failed: ${thrown instanceof Error ? thrown.message : 'unknown reason'}`);
  }
  if (isToolModule(made)) return made;
  throw configError(`${entry}() has to return { definition, execute }, with the definition as an object`);
}

function isToolModule(value: unknown): value is ToolModule {
  if (typeof value !== 'object' || value === null || !('definition' in value) || !('execute' in value)) return false;
  return typeof value.execute === 'function' && isJsonObject(value.definition);
}

function configError(message: string): AtmoError {
  return new AtmoError('CONFIG_INVALID', message);
}
