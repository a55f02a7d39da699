import type { MeshPorts } from '../../calls/mesh-ports.ts';
import type { Principal } from '../../core/auth/principal.ts';
import type { Clock } from '../../core/clock.ts';
import { areaKey } from '../../core/devices/device-names.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { toolKey } from '../../tools/definition/tool-names.ts';
import type { RemoteTools, ToolDirectory } from '../../tools/registry/tool-directory.ts';
import type { ToolRegistry } from '../../tools/registry/tool-registry.ts';
import { LARGE_PARAMS_LIMITS } from '../../tools/schema/plain-json.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import { neededCapabilities } from '../calls/elicitation.ts';
import { errorResult } from '../calls/tool-result.ts';
import type { McpCaller, McpFeature, McpListener, McpNotifier, McpView, ToolRunner } from '../mcp-feature.ts';
import { toolListPage } from '../pagination.ts';
import type { HomeTool } from './home-tool.ts';
import { type MeasurementParts, measurementTools } from './measurement-tools.ts';
import { overviewTool } from './overview-tool.ts';
import { type NamedToolParts, type ProxyParts, proxyOf, proxyTools, type SearchParts, searchTools, toolNamed } from './search-and-call.ts';
import { mirroredSchema, shortToolForm, toolForm } from './tool-form.ts';

/** The parts of the hub that are needed to list and call tools. */
export interface ToolFeatureParts extends ProxyParts, SearchParts, MeasurementParts {
  readonly registry: ToolRegistry;
  readonly mesh: Pick<MeshPorts, 'tools'>;
}

/** Returns `tools/list` and `tools/call` for all views. It sends change notifications until it is closed. */
export function toolFeature(parts: ToolFeatureParts, notifier: McpNotifier): McpFeature {
  const paced = (tool: HomeTool): HomeTool => ({
    ...tool,
    answer: async (params, caller) => {
      parts.reads.take(caller.principal);
      return tool.answer(params, caller);
    },
  });
  const reading = (tools: readonly HomeTool[]) => tools.map(paced);
  const own = [...reading([overviewTool(parts), ...searchTools(parts)]), ...proxyTools(parts), ...reading(measurementTools(parts))];
  const home = new ToolHomeView(parts, own);
  const lists = new ToolListView(parts);
  const changes = new ToolChanges({
    registry: parts.registry,
    clock: parts.clock,
    remote: parts.mesh.tools,
    notifier,
    isListed: (tool, view) => (view.kind === 'home' ? DIRECT_KEYS.has(toolKey(tool)) : isIn(tool, view)),
    visibleTo: (principal) => parts.catalogue.visibleTo(principal),
  });
  return {
    capabilities: { tools: { listChanged: true } },
    methods: {
      'tools/list': async ({ cursor }, caller) => {
        if (caller.view.kind !== 'home') return lists.list(cursor, caller);
        if (cursor === undefined) return home.list(caller);
        throw new AtmoError('VALIDATION_ERROR', 'This list has one page only; leave the cursor out');
      },
      'tools/call': (params, caller) => {
        const { name, args } = callParams(params);
        return (isHome(caller) ? home : lists).call(name, args, caller);
      },
    },
    mirroredSchema: (name, listener) => (isHome(listener) ? undefined : lists.mirrored(name, listener)),
    close: () => changes[Symbol.dispose](),
  };
}

function isHome({ view }: McpListener): boolean {
  return view.kind === 'home';
}

function callParams({ name, arguments: args = {} }: JsonObject): { readonly name: string; readonly args: JsonObject } {
  if (typeof name === 'string' && isJsonObject(args)) return { name, args };
  throw new AtmoError('VALIDATION_ERROR', 'tools/call needs {"name": "…", "arguments": {…}}');
}

/** Tools of the registry that the default view lists directly, if they exist and the caller may use them. */
const DIRECT_TOOLS = [
  'core:turn_on_light',
  'core:turn_off_light',
  'core:set_thermostat',
  'core:set_cover',
  'core:control_area',
  'core:job_status',
  'hub:list_approvals',
] as const;
const DIRECT_KEYS: ReadonlySet<string> = new Set(DIRECT_TOOLS);

interface HomeViewParts extends NamedToolParts {
  readonly validator: SchemaValidator;
  readonly run: ToolRunner;
}

/** The view `/mcp`, with about a dozen tools for any number of devices. */
class ToolHomeView {
  readonly #parts: HomeViewParts;
  readonly #own: readonly HomeTool[];

  constructor(parts: HomeViewParts, own: readonly HomeTool[]) {
    this.#parts = parts;
    this.#own = own;
  }

  list({ principal }: McpCaller): JsonObject {
    const { catalogue } = this.#parts;
    const isVisible = catalogue.visibleTo(principal);
    const direct = this.#direct(principal).filter(isVisible);
    return { tools: [...this.#own.map(({ form }) => form), ...direct.map((tool) => shortToolForm(tool, catalogue.modelName(tool)))] };
  }

  /** Calls a listed tool. Rejects with TOOL_NOT_FOUND if the tool is not listed; the message names the tool through which to call it. */
  async call(name: string, params: JsonObject, caller: McpCaller): Promise<JsonObject> {
    const own = this.#own.find((tool) => tool.name === name);
    if (own) return this.#answer(own, params, caller);
    const { catalogue, run } = this.#parts;
    const direct = this.#direct(caller.principal).find((tool) => catalogue.modelName(tool) === name);
    if (direct) return run({ tool: direct, params, listing: 'open' }, caller);
    throw await this.#unlisted(name, caller);
  }

  async #answer(tool: HomeTool, given: JsonObject, caller: McpCaller): Promise<JsonObject> {
    try {
      return await tool.answer(this.#parts.validator.parameters(tool.parameters, given, LARGE_PARAMS_LIMITS), caller);
    } catch (thrown) {
      const error = toAtmoError(thrown);
      if (error.code === 'INTERNAL_ERROR' || neededCapabilities(error)) throw error;
      return errorResult(error.toBody(), { era: caller.era, listing: 'open' });
    }
  }

  #direct(principal: McpCaller['principal']): readonly RegisteredTool[] {
    return DIRECT_TOOLS.flatMap((key) => this.#parts.catalogue.known(principal, key) ?? []);
  }

  async #unlisted(name: string, { principal }: McpCaller): Promise<AtmoError> {
    const shown = JSON.stringify(name.slice(0, 160));
    const { catalogue } = this.#parts;
    try {
      const tool = await toolNamed(this.#parts, principal, name);
      const by = proxyOf(tool);
      return new AtmoError(
        'TOOL_NOT_FOUND',
        `${shown} is called by ${by}: {"name": ${JSON.stringify(catalogue.modelName(tool))}, "arguments": {…}}`,
        {
          call_with: by,
        },
      );
    } catch (thrown) {
      return toAtmoError(thrown);
    }
  }
}

/** The parts of the hub that are needed to list single tools. */
interface ListViewParts extends NamedToolParts {
  readonly tools: Pick<ToolDirectory, 'all'>;
  readonly run: ToolRunner;
}

/** The views `/mcp/devices` and `/mcp/areas/{area}`, which list each callable tool with its types. */
class ToolListView {
  readonly #parts: ListViewParts;

  constructor(parts: ListViewParts) {
    this.#parts = parts;
  }

  /** Returns a page of tools. Rejects with VALIDATION_ERROR if the cursor is invalid. */
  async list(cursor: Json | undefined, { principal, view }: McpCaller): Promise<JsonObject> {
    const { catalogue, tools } = this.#parts;
    await catalogue.whole(principal);
    const formOf = isFull(view) ? toolForm : shortToolForm;
    const page = toolListPage(tools.all(), this.#listedIn(view, principal), cursor);
    return {
      tools: page.tools.map((tool) => formOf(tool, catalogue.modelName(tool))),
      ...(page.nextCursor !== undefined && { nextCursor: page.nextCursor }),
    };
  }

  /** Calls a tool of the view. Rejects with TOOL_NOT_FOUND if the view has no such tool, or AMBIGUOUS_TOOL if several tools match. */
  async call(name: string, params: JsonObject, caller: McpCaller): Promise<JsonObject> {
    const tool = await this.#find(name, caller);
    const listing = isFull(caller.view) && tool.definition.returns.type === 'object' ? 'typed' : 'open';
    const waits = waitsForPeople(caller.view) && proxyOf(tool) === 'sensitive_tool';
    return this.#parts.run({ tool, params, listing, ...(waits && { waitsForApproval: true }) }, caller);
  }

  /** Returns the parameter schema of a listed tool if clients repeat its arguments in headers. Returns undefined for other tools. */
  mirrored(name: string, listener: McpListener): JsonObject | undefined {
    const { catalogue } = this.#parts;
    const tool = catalogue.known(listener.principal, name);
    return tool && isIn(tool, listener.view) ? mirroredSchema(tool, catalogue.modelName(tool)) : undefined;
  }

  async #find(name: string, { principal, view }: McpCaller): Promise<RegisteredTool> {
    const tool = await toolNamed(this.#parts, principal, name);
    if (isIn(tool, view)) return tool;
    const shown = JSON.stringify(name.slice(0, 160));
    throw new AtmoError('TOOL_NOT_FOUND', `${shown} is not listed here; list the tools, or call it at /mcp by control_tool or read_tool`);
  }

  #listedIn(view: McpView, principal: Principal): (tool: RegisteredTool) => boolean {
    const { catalogue } = this.#parts;
    const isVisible = catalogue.visibleTo(principal);
    const isMeant = catalogue.defaultVersionFor(principal);
    return (tool) => isIn(tool, view) && catalogue.isReady(tool) && isVisible(tool) && isMeant(tool);
  }
}

function isFull(view: McpView): boolean {
  return view.kind !== 'home' && view.isFull === true;
}

function waitsForPeople(view: McpView): boolean {
  return view.kind !== 'home' && view.waits === true;
}

/** Returns whether a tool is in the view. Administration tools are in no list, because they would fill most of it. */
function isIn({ definition: { metadata, namespace } }: Pick<RegisteredTool, 'definition'>, view: McpView): boolean {
  if (view.kind === 'home') return false;
  if (view.kind === 'area') return metadata.area !== undefined && areaKey(metadata.area) === areaKey(view.area);
  return namespace !== 'hub' || metadata.device !== undefined;
}

/** Milliseconds in which changes are collected into one notification, since a new device adds dozens of tools. */
const GATHER_MS = 250;

interface ChangeCollaborators {
  readonly registry: Pick<ToolRegistry, 'onChange'>;
  readonly remote: Pick<RemoteTools, 'onChange'>;
  readonly clock: Clock;
  readonly notifier: Pick<McpNotifier, 'toolsChanged'>;
  /** Returns whether a tool is in the list of a listener's view. */
  isListed(tool: RegisteredTool, view: McpListener['view']): boolean;
  visibleTo(principal: Principal): (tool: RegisteredTool) => boolean;
}

/** Notifies clients when the list of tools in their view may have changed. */
export class ToolChanges implements Disposable {
  readonly #collaborators: ChangeCollaborators;
  readonly #stops: readonly (() => void)[];
  #changed: RegisteredTool[] = [];
  #isMeshChanged = false;
  #stopTimer: (() => void) | undefined;

  constructor(collaborators: ChangeCollaborators) {
    const { registry, remote } = collaborators;
    this.#collaborators = collaborators;
    this.#stops = [
      registry.onChange(({ tool }) => {
        this.#changed.push(tool);
        this.#gather();
      }),
      remote.onChange(() => {
        this.#isMeshChanged = true;
        this.#gather();
      }) ?? (() => {}),
    ];
  }

  [Symbol.dispose](): void {
    this.#stopTimer?.();
    for (const stop of this.#stops) stop();
  }

  #gather(): void {
    this.#stopTimer ??= this.#collaborators.clock.after(GATHER_MS, () => this.#tell());
  }

  #tell(): void {
    const { notifier, isListed, visibleTo } = this.#collaborators;
    const changed = this.#changed;
    // It is unknown which tools of other hubs have changed, so the clients of all views except `/mcp` are notified.
    const isMeshChanged = this.#isMeshChanged;
    this.#changed = [];
    this.#isMeshChanged = false;
    this.#stopTimer = undefined;
    notifier.toolsChanged(({ principal, view }) => {
      if (isMeshChanged && view.kind !== 'home') return true;
      const isVisible = visibleTo(principal);
      return changed.some((tool) => isListed(tool, view) && isVisible(tool));
    });
  }
}
