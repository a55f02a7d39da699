import semver from 'semver';
import { compareText } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import type { EventBus } from '../../core/events.ts';
import type { ToolId } from '../../core/ids.ts';
import { oncePerObject } from '../../core/lifecycle.ts';
import { type LintFinding, lintDefinition } from '../definition/definition-lint.ts';
import type { Category, RegisteredTool, ToolDefinition } from '../definition/tool-definition.ts';
import { fitsAllRanges, toolKey as keyOf, modelNames, parseToolName, type ToolReference, toolId } from '../definition/tool-names.ts';
import { isTrustedSchema, type SchemaValidator } from '../schema/schema-validator.ts';
import { toolNotFound } from './tool-suggestion.ts';

/** An added or removed tool. */
export type ToolChange = { readonly kind: 'added' | 'removed'; readonly tool: RegisteredTool };

interface RegistryOptions {
  /** `error`: the registry refuses tools whose parameters lack a type or a description. `keep`: it registers them and returns warnings. */
  readonly onWarning?: 'error' | 'keep';
}

/** Restricts the tools that a name can mean. */
export interface ResolveOptions {
  readonly versionRange?: string;
  /** Returns whether the caller may know of a tool. Other tools are treated as if they did not exist. */
  readonly isVisible?: (tool: RegisteredTool) => boolean;
  /** Returns whether an error message may suggest a tool; default: it may suggest all visible tools. */
  readonly isListed?: (tool: RegisteredTool) => boolean;
}

const allTools = () => true;
/** Number of removed tools that are remembered. */
const MAX_REMOVED = 1_000;

/** Holds the tools of this hub and finds them by name. Several versions of a tool can be registered at the same time. */
export class ToolRegistry implements AsyncDisposable {
  readonly #validator: SchemaValidator;
  readonly #options: RegistryOptions;
  readonly #tools = new Map<ToolId, RegisteredTool>();
  /** Versions of each tool by `namespace:name`, the newest first. */
  readonly #versions = new Map<string, readonly RegisteredTool[]>();
  /** For each bare name, the full names `namespace:name` of the tools with that bare name. */
  readonly #namespaces = new Map<string, ReadonlySet<string>>();
  /** The tools that were removed last, by id. */
  readonly #removed = new Map<string, RegisteredTool>();
  readonly #aliases = new Map<string, string>();
  readonly #listeners = new Set<(change: ToolChange) => void>();
  readonly #shuttingDown = new Set<Promise<void>>();
  #sorted: readonly RegisteredTool[] | undefined;
  #modelNames: ReadonlyMap<string, string> | undefined;
  #takenNames: ReadonlySet<string> | undefined;

  constructor(collaborators: { readonly validator: SchemaValidator }, options: RegistryOptions = {}) {
    this.#validator = collaborators.validator;
    this.#options = options;
  }

  get size(): number {
    return this.#tools.size;
  }

  /** Registers a tool; returns warnings. Throws VALIDATION_ERROR if it is invalid, CONFLICT if its id is taken and `replace` is not set. */
  register(tool: RegisteredTool, options: { readonly replace?: boolean } = {}): readonly LintFinding[] {
    const id = toolId(tool.definition);
    const findings = this.#lint(tool);
    const existing = this.#tools.get(id);
    if (existing && !options.replace) {
      throw new AtmoError('CONFLICT', `The tool ${id} is already registered; remove it first, ask to replace it, or use another version`);
    }
    if (existing) this.unregister(id);
    this.#insert({ ...tool, id });
    return findings;
  }

  /** Removes a tool. Returns false if the registry has no such tool. */
  unregister(id: ToolId): boolean {
    const tool = this.#tools.get(id);
    if (!tool) return false;
    this.#tools.delete(id);
    for (const alias of tool.aliases ?? []) if (this.#aliases.get(alias) === keyOf(tool)) this.#aliases.delete(alias);
    this.#setVersions(
      tool,
      this.#versionsOf(keyOf(tool)).filter((other) => other !== tool),
    );
    this.#remember(tool);
    this.#notify({ kind: 'removed', tool });
    this.#shutDown(tool);
    return true;
  }

  /** Makes `from` (any text without `@`) an alias of the tool named `to`. The name of an existing tool takes precedence over an alias. */
  alias(from: string, to: string): void {
    if (!parseToolName(to)) throw new AtmoError('VALIDATION_ERROR', `${JSON.stringify(to)} is not a tool name`);
    this.#aliases.set(from, to);
  }

  removeAlias(from: string): boolean {
    return this.#aliases.delete(from);
  }

  get(id: string): RegisteredTool | undefined {
    return this.#tools.get(id as ToolId);
  }

  /** Returns a tool that was removed: its permissions decide who may learn of that, and of its former calls. */
  getRemoved(id: string): RegisteredTool | undefined {
    return this.#removed.get(id);
  }

  /**
   * Returns the tool with a name, a name for models, or an alias. If several tools match a name without namespace, returns the core tool,
   * or else the only one that no agent made. Of several versions, returns the newest unless `@` selects a version or range. Throws
   * TOOL_NOT_FOUND with suggestions, or AMBIGUOUS_TOOL with the names of all matching tools.
   */
  resolve(name: string, options: ResolveOptions = {}): RegisteredTool {
    const found = this.find(name, options);
    if (found) return found;
    throw toolNotFound(name, this.all().filter(options.isListed ?? options.isVisible ?? allTools));
  }

  /** Returns the tool like `resolve`, but undefined if there is none. Throws AMBIGUOUS_TOOL if several tools match. */
  find(name: string, options: ResolveOptions = {}): RegisteredTool | undefined {
    return this.#find(name, options) ?? this.#findAlias(name, options) ?? this.#findByModelName(name, options);
  }

  /** Returns one page of tools, sorted by id. Throws VALIDATION_ERROR if the limit is out of range. */
  list(filter: ToolFilter = {}): ToolPage {
    return filterTools(this.#sortedTools(), filter);
  }

  /** Returns all tools, sorted by id. */
  all(): readonly RegisteredTool[] {
    return this.#sortedTools();
  }

  listByCapability(capability: string): readonly RegisteredTool[] {
    return this.#sortedTools().filter((tool) => tool.definition.requires.capabilities.includes(capability));
  }

  listByCategory(category: Category): readonly RegisteredTool[] {
    return this.#sortedTools().filter((tool) => tool.definition.metadata.category === category);
  }

  /** Returns whether any version of the tool `namespace:name` is registered. */
  has(key: string): boolean {
    return this.#versions.has(key);
  }

  hasModelName(name: string): boolean {
    this.#takenNames ??= new Set(this.#names().values());
    return this.#takenNames.has(name);
  }

  /** Returns the name of a tool for models: `[a-z0-9_]`, at most 40 characters. */
  modelName(tool: RegisteredTool): string {
    const name = this.#names().get(keyOf(tool));
    if (name === undefined) throw new AtmoError('TOOL_NOT_FOUND', `The tool ${tool.id} is not registered`);
    return name;
  }

  /** Calls the listener after each addition or removal of a tool. Returns a function that removes the listener. */
  onChange(listener: (change: ToolChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Removes all tools. Resolves when every tool has released its resources. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const id of [...this.#tools.keys()]) this.unregister(id);
    await Promise.allSettled(this.#shuttingDown);
  }

  #lint(tool: RegisteredTool): readonly LintFinding[] {
    const findings = lintDefinition(lintedPart(tool.definition), this.#validator, tool.isolation);
    const stopping = findings.find((finding) => finding.severity === 'error' || this.#options.onWarning === 'error');
    if (!stopping) return findings;
    throw new AtmoError('VALIDATION_ERROR', `The tool ${toolId(tool.definition)} is refused: ${stopping.message} (${stopping.pointer})`, {
      findings: findings.map((finding) => ({ ...finding })),
    });
  }

  #insert(tool: RegisteredTool): void {
    this.#tools.set(tool.id, tool);
    for (const alias of tool.aliases ?? []) this.#aliases.set(alias, keyOf(tool));
    const versions = [...this.#versionsOf(keyOf(tool)), tool];
    this.#setVersions(
      tool,
      versions.sort((a, b) => semver.rcompare(a.definition.version, b.definition.version)),
    );
    this.#notify({ kind: 'added', tool });
  }

  #remember(tool: RegisteredTool): void {
    this.#removed.delete(tool.id);
    this.#removed.set(tool.id, tool);
    const [oldest] = this.#removed.keys();
    if (this.#removed.size > MAX_REMOVED && oldest !== undefined) this.#removed.delete(oldest);
  }

  /** Calls `shutdown` of a removed tool. Errors are ignored, because the registry no longer has the tool. */
  #shutDown(tool: RegisteredTool): void {
    if (!tool.shutdown) return;
    const ended: Promise<void> = tool
      .shutdown()
      .catch(() => {})
      .finally(() => this.#shuttingDown.delete(ended));
    this.#shuttingDown.add(ended);
  }

  #setVersions(tool: RegisteredTool, versions: readonly RegisteredTool[]): void {
    const key = keyOf(tool);
    const keys = new Set(this.#namespaces.get(tool.definition.name));
    if (versions.length > 0) keys.add(key);
    else keys.delete(key);
    if (versions.length > 0) this.#versions.set(key, versions);
    else this.#versions.delete(key);
    if (keys.size > 0) this.#namespaces.set(tool.definition.name, keys);
    else this.#namespaces.delete(tool.definition.name);
    this.#sorted = undefined;
    this.#modelNames = undefined;
    this.#takenNames = undefined;
  }

  #versionsOf(key: string): readonly RegisteredTool[] {
    return this.#versions.get(key) ?? [];
  }

  #find(name: string, options: ResolveOptions): RegisteredTool | undefined {
    const reference = parseToolName(name);
    if (!reference) return undefined;
    const matches = this.#keysOf(reference)
      .map((key) => this.#pickVersion(key, reference, options))
      .filter((tool) => tool !== undefined);
    const core = matches.find((tool) => tool.definition.namespace === 'core');
    if (core) return core;
    // A tool that no agent made takes precedence. Otherwise, an agent's tool could block the bare name of a device tool.
    const brought = matches.filter((tool) => tool.definition.metadata.createdBy !== 'agent');
    if (matches.length > 1 && brought.length !== 1) throw ambiguous(name, matches);
    return brought[0] ?? matches[0];
  }

  #keysOf(reference: ToolReference): readonly string[] {
    if (reference.namespace !== undefined) return [`${reference.namespace}:${reference.name}`];
    return [...(this.#namespaces.get(reference.name) ?? [])];
  }

  #pickVersion(key: string, reference: ToolReference, options: ResolveOptions): RegisteredTool | undefined {
    const ranges = [reference.version, options.versionRange].filter((range) => range !== undefined);
    const fits = this.#versionsOf(key).filter((tool) => (options.isVisible ?? allTools)(tool) && fitsAllRanges(tool, ranges));
    // A pre-release is chosen only if no other version fits.
    return fits.find((tool) => semver.prerelease(tool.definition.version) === null) ?? fits[0];
  }

  #findAlias(name: string, options: ResolveOptions): RegisteredTool | undefined {
    const whole = this.#aliases.get(name);
    if (whole !== undefined) return this.#find(whole, options);
    const { namespace, name: bare = '', version } = parseToolName(name) ?? {};
    const target = this.#aliases.get(bare);
    if (target === undefined || (namespace !== undefined && !target.startsWith(`${namespace}:`))) return undefined;
    return this.#find(version === undefined ? target : `${target}@${version}`, options);
  }

  #findByModelName(name: string, options: ResolveOptions): RegisteredTool | undefined {
    for (const [key, modelName] of this.#names()) if (modelName === name) return this.#find(key, options);
    return undefined;
  }

  #names(): ReadonlyMap<string, string> {
    this.#modelNames ??= modelNames([...this.#versions.keys()]);
    return this.#modelNames;
  }

  #sortedTools(): readonly RegisteredTool[] {
    this.#sorted ??= [...this.#tools.values()].sort((a, b) => compareText(a.id, b.id));
    return this.#sorted;
  }

  #notify(change: ToolChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

/** Returns the part of a definition to lint. Omits the examples of the hub's own tools to save time, since tests check them. */
function lintedPart(definition: ToolDefinition): ToolDefinition {
  if (!isTrustedSchema(definition.parameters)) return definition;
  return { ...definition, metadata: { ...definition.metadata, examples: [] } };
}

function ambiguous(name: string, matches: readonly RegisteredTool[]): AtmoError {
  const candidates = matches.map((tool) => keyOf(tool)).sort(compareText);
  return new AtmoError('AMBIGUOUS_TOOL', `${JSON.stringify(name)} fits ${candidates.join(', ')}; write one of them`, { candidates });
}

/** Conditions that select tools for a list. A tool must meet all given conditions. */
export interface ToolFilter {
  readonly capability?: string;
  readonly category?: Category;
  readonly device?: string;
  /** Returns whether tools of an area are wanted. If this function is given, tools without an area are omitted. */
  readonly isInArea?: (area: string) => boolean;
  /** Text whose words must all occur in the tool's name, title, description or tags. */
  readonly text?: string;
  readonly createdBy?: 'system' | 'agent';
  readonly isVisible?: (tool: RegisteredTool) => boolean;
  /** Number of tools to skip; default: 0. */
  readonly offset?: number;
  /** Maximum number of tools on the page, from 1 to 1,000; default: 100. */
  readonly limit?: number;
}

/** One page of a list of tools. */
export interface ToolPage {
  readonly tools: readonly RegisteredTool[];
  /** Number of tools on all pages together. */
  readonly total: number;
  /** Offset of the next page; absent on the last page. */
  readonly nextOffset?: number;
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

/** Returns one page of the tools that meet the filter, in the given order. */
export function filterTools(tools: readonly RegisteredTool[], filter: ToolFilter): ToolPage {
  const offset = requireWithin('offset', filter.offset ?? 0, [0, Number.MAX_SAFE_INTEGER]);
  const limit = requireWithin('limit', filter.limit ?? DEFAULT_LIMIT, [1, MAX_LIMIT]);
  const conditions = conditionsOf(filter);
  const passing = conditions.length === 0 ? tools : tools.filter(allOf(conditions));
  const end = offset + limit;
  return { tools: passing.slice(offset, end), total: passing.length, ...(end < passing.length && { nextOffset: end }) };
}

/** Returns a function that tests whether a tool meets the filter. It ignores `offset` and `limit`. */
export function filterPredicate(filter: ToolFilter): (tool: RegisteredTool) => boolean {
  return allOf(conditionsOf(filter));
}

type Condition = (tool: RegisteredTool) => boolean;

function allOf(conditions: readonly Condition[]): Condition {
  return (tool) => conditions.every((condition) => condition(tool));
}

function conditionsOf(filter: ToolFilter): readonly Condition[] {
  const { capability, category, device, isInArea, text, createdBy, isVisible } = filter;
  const conditions: (Condition | false | undefined)[] = [
    !!category && (({ definition }) => definition.metadata.category === category),
    !!device && (({ definition }) => definition.metadata.device === device),
    isInArea && (({ definition: { metadata } }) => metadata.area !== undefined && isInArea(metadata.area)),
    !!createdBy && (({ definition }) => definition.metadata.createdBy === createdBy),
    !!capability && (({ definition }) => definition.requires.capabilities.includes(capability)),
    !!text && hasWords(text),
    isVisible,
  ];
  return conditions.filter((condition) => typeof condition === 'function');
}

function hasWords(text: string): Condition {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return (tool) => {
    const haystack = searchText(tool);
    return words.every((word) => haystack.includes(word));
  };
}

const searchText = oncePerObject(({ definition: { name, namespace, description, metadata } }: RegisteredTool) =>
  [namespace, name, metadata.title, description, ...metadata.tags].join(' ').toLowerCase(),
);

function requireWithin(name: string, value: number, [low, high]: readonly [number, number]): number {
  if (Number.isSafeInteger(value) && value >= low && value <= high) return value;
  throw new AtmoError('VALIDATION_ERROR', `${name} has to be a whole number from ${low} to ${high}`);
}

/** Emits an `agi.tool.*` event for each added or removed tool. Returns a function that stops the events. */
export function emitToolChanges(registry: ToolRegistry, events: EventBus): () => void {
  return registry.onChange(({ kind, tool }) => {
    const { title, createdBy, device } = tool.definition.metadata;
    const added = createdBy === 'agent' ? 'agi.tool.created' : 'agi.tool.discovered';
    const data = { tool: tool.id, title, created_by: createdBy, ...(device !== undefined && { device }) };
    events.emit(kind === 'added' ? added : 'agi.tool.removed', tool.id, data);
  });
}
