import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { invalidConfig } from '../../core/errors.ts';
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
 * The tool that a plugin or file provides. The hub gets it by calling the entry function with `config`. If the definition has
 * `max_memory_bytes`, each call runs in a separate process. In that process, the context of `execute` has only `clock` and `random`.
 */
interface ToolModule {
  /** Tool definition in the public form. The name in the manifest replaces its name. */
  readonly definition: JsonObject;
  execute(params: JsonObject, context: ToolContext): Promise<Json>;
  /** MCP resources and prompts of the tool, which run in the hub's process. Not available with `max_memory_bytes`. */
  readonly companions?: ToolCompanions;
}

/** The parts of the hub that run or load the code of manifest entries. */
export interface ManifestSources {
  /** Functions that create built-in tools, by module name. */
  readonly builtins: ReadonlyMap<string, (name: string, config: JsonObject) => RegisteredTool>;
  /** Names of the packages that the owner allows as plugins. */
  readonly allowedPlugins: readonly string[];
  /** Returns the store that holds the last valid text of the manifest. */
  readonly takenOf: (path: string) => AcceptedText;
  /** The user of the service, who may own the files besides root; default: the user of this process. */
  readonly uid?: number;
  /** Runs programs and sandboxed files. If absent, their tools are listed as unavailable. */
  readonly programs?: ProgramSandbox;
  /** Interprets `js:` and `wasm:` entries. If absent, the hub skips these entries as invalid. */
  readonly scripts?: ScriptEngine;
}

interface ChangedPlugin {
  readonly name: string;
  readonly integrity: string;
}

/** The tools of a manifest, and the entries that were skipped. */
export interface Manifest {
  readonly tools: readonly RegisteredTool[];
  readonly leftOut: readonly SkippedRecord[];
  /** Plugins whose files have changed since the hub last loaded them, each with the current `integrity`. */
  readonly changedPlugins: readonly ChangedPlugin[];
  /** All records of the manifest, including skipped ones. */
  readonly records: readonly FileRecord[];
  /** Why the current manifest is not used. If this is set, the tools come from the last valid manifest. */
  readonly stale?: SkippedRecord;
}

/** A well-formed entry of a manifest, with its file and line. */
export interface LocatedEntry {
  readonly entry: ManifestEntry;
  readonly record: FileRecord;
}

/** Returns the entries of a manifest's records without loading their code. */
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

/** Loads the code of a manifest's entries, and calls `take` for each tool. Skips an entry if it has a mistake or if `take` throws. */
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
    if (!make) throw invalidConfig(`there is no builtin ${target}; there is ${[...sources.builtins.keys()].join(', ')}`);
    return make(entry.name, entry.config);
  }
  if (kind === 'file') return moduleTool(entry, { specifier: ownFile() });
  const plugin = pluginOf(entry, place);
  const specifier = pathToFileURL(plugin.file).href;
  return moduleTool(entry, { specifier, integrity: plugin.integrity, requireUnchanged: () => plugin.requireUnchanged() });
}

/** Throws CONFIG_INVALID if the owner has not allowed the plugin, or if the plugin's files do not match the entry's `integrity`. */
function pluginOf({ source: { target: name }, integrity }: ManifestEntry, { path, uid, sources, onChange }: LoadContext): PluginPackage {
  if (!sources.allowedPlugins.includes(name)) throw invalidConfig(`the plugin ${name} is not allowed; add it to tools.plugins`);
  const plugin = new PluginPackage(name, { manifest: path, uid });
  const isSame = integrity === undefined || integrity === plugin.integrity;
  const last = sources.takenOf(join(dirname(path), 'node_modules', name));
  if (isSame && last.get() !== plugin.integrity) {
    if (last.get() !== undefined) onChange({ name, integrity: plugin.integrity });
    saveAccepted(last, plugin.integrity);
  }
  if (isSame) return plugin;
  const now = `its files are ${plugin.integrity} now; look at them, and write that into the entry if they are meant`;
  throw invalidConfig(`the plugin ${name} is not the one that integrity names: ${now}`);
}

async function importFrom(specifier: string): Promise<unknown> {
  try {
    return await import(specifier);
  } catch (error) {
    throw invalidConfig(`${specifier} cannot be loaded: ${error instanceof Error ? error.message : 'unknown reason'}`);
  }
}

interface LoadedCode {
  readonly specifier: string;
  /** Hash of the package's files. */
  readonly integrity?: string;
  /** Throws CONFLICT if the files have changed since the hub checked them. */
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
    // Each call loads the code again, so the files are checked again.
    handler: async (params, context) => {
      requireUnchanged?.();
      return handler(params, context);
    },
  };
}

/** Calls the entry function. An error of the function is reported as a mistake of the plugin, not of the hub. */
function createModule(loaded: unknown, { entry, config }: ManifestEntry): ToolModule {
  const create: unknown = typeof loaded === 'object' && loaded !== null ? Reflect.get(loaded, entry) : undefined;
  if (typeof create !== 'function') throw invalidConfig(`the module exports no function ${entry}`);
  let made: unknown;
  try {
    made = create(config);
  } catch (thrown) {
    throw invalidConfig(`${entry}() failed: ${thrown instanceof Error ? thrown.message : 'unknown reason'}`);
  }
  if (isToolModule(made)) return made;
  throw invalidConfig(`${entry}() has to return { definition, execute }, with the definition as an object`);
}

function isToolModule(value: unknown): value is ToolModule {
  if (typeof value !== 'object' || value === null || !('definition' in value) || !('execute' in value)) return false;
  return typeof value.execute === 'function' && isJsonObject(value.definition);
}
