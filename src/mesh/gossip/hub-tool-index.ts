import semver from 'semver';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { fitsAllRanges, modelNames, parseToolName, type ToolReference, toolKey } from '../../tools/definition/tool-names.ts';
import type { ResolveOptions } from '../../tools/registry/tool-registry.ts';

/** Finds the tools of one other hub by name, as that hub's own registry would. Also finds a device's tool by its aliases. */
export class HubToolIndex {
  readonly tools: readonly RegisteredTool[];
  /** Versions of each `namespace:name`, newest first. */
  readonly #versions = new Map<string, RegisteredTool[]>();
  /** For each tool name without namespace, the `namespace:name` of all tools with this name. */
  readonly #keys = new Map<string, Set<string>>();
  /** For each alias, the `namespace:name` of its tool. */
  readonly #aliases = new Map<string, string>();
  #modelNames: ReadonlyMap<string, string> | undefined;

  constructor(tools: readonly RegisteredTool[]) {
    this.tools = tools;
    for (const tool of tools) {
      const { name } = tool.definition;
      const key = toolKey(tool);
      this.#versions.set(key, [...(this.#versions.get(key) ?? []), tool]);
      this.#keys.set(name, (this.#keys.get(name) ?? new Set()).add(key));
      for (const alias of tool.aliases ?? []) this.#aliases.set(alias, key);
    }
    for (const versions of this.#versions.values()) versions.sort((a, b) => semver.rcompare(a.definition.version, b.definition.version));
  }

  /** Returns the tool that the name selects; several tools if the name is ambiguous, none if it is unknown. */
  find(name: string, options: ResolveOptions): readonly RegisteredTool[] {
    const found = this.#findByName(name, options);
    if (found.length > 0) return found;
    const renamed = this.#findByAlias(name, options);
    return renamed.length > 0 ? renamed : this.#findByModelName(name, options);
  }

  modelName(tool: RegisteredTool): string | undefined {
    return this.#names().get(toolKey(tool));
  }

  #findByName(name: string, options: ResolveOptions): readonly RegisteredTool[] {
    const reference = parseToolName(name);
    if (!reference) return [];
    const matches = this.#keysOf(reference).flatMap((key) => this.#pickVersion(key, reference, options) ?? []);
    const core = matches.find((tool) => tool.definition.namespace === 'core');
    return core ? [core] : matches;
  }

  #findByAlias(text: string, options: ResolveOptions): readonly RegisteredTool[] {
    const { namespace, name = '', version } = parseToolName(text) ?? {};
    const key = this.#aliases.get(name);
    if (key === undefined || (namespace !== undefined && !key.startsWith(`${namespace}:`))) return [];
    return this.#findByName(version === undefined ? key : `${key}@${version}`, options);
  }

  #keysOf(reference: ToolReference): readonly string[] {
    if (reference.namespace !== undefined) return [`${reference.namespace}:${reference.name}`];
    return [...(this.#keys.get(reference.name) ?? [])];
  }

  #pickVersion(key: string, reference: ToolReference, options: ResolveOptions): RegisteredTool | undefined {
    const ranges = [reference.version, options.versionRange].filter((range) => range !== undefined);
    const isVisible = options.isVisible ?? (() => true);
    const fits = (this.#versions.get(key) ?? []).filter((tool) => isVisible(tool) && fitsAllRanges(tool, ranges));
    // A pre-release is selected only if no stable version fits.
    return fits.find((tool) => semver.prerelease(tool.definition.version) === null) ?? fits[0];
  }

  #findByModelName(name: string, options: ResolveOptions): readonly RegisteredTool[] {
    for (const [key, modelName] of this.#names()) if (modelName === name) return this.#findByName(key, options);
    return [];
  }

  #names(): ReadonlyMap<string, string> {
    this.#modelNames ??= modelNames([...this.#versions.keys()]);
    return this.#modelNames;
  }
}
