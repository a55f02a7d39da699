import { AtmoError, toAtmoError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { RegisteredTool } from '../../../tools/definition/tool-definition.ts';
import { toolKey } from '../../../tools/definition/tool-name.ts';
import { LARGE_PARAMS_LIMITS } from '../../../tools/schema/plain-json.ts';
import type { SchemaValidator } from '../../../tools/schema/schema-validator.ts';
import { neededCapabilities } from '../calls/elicitation.ts';
import { errorResult } from '../calls/tool-result.ts';
import type { ToolRunner } from '../calls/tool-run.ts';
import type { McpCaller } from '../mcp-feature.ts';
import type { HomeTool } from './home-tool.ts';
import { type NamedToolParts, proxyOf, toolNamed } from './proxy-tools.ts';
import { shortToolForm } from './tool-form.ts';

/** Tools of the registry that the default view lists by themselves, where the hub has them and the caller may use them. */
const DIRECT_TOOLS = [
  'core:turn_on_light',
  'core:turn_off_light',
  'core:set_thermostat',
  'core:set_cover',
  'core:job_status',
  'hub:list_approvals',
] as const;
const DIRECT_KEYS: ReadonlySet<string> = new Set(DIRECT_TOOLS);

/** Whether the default view lists a tool of the registry by itself. */
export function isDirect(tool: Pick<RegisteredTool, 'definition'>): boolean {
  return DIRECT_KEYS.has(toolKey(tool));
}

interface HomeViewParts extends NamedToolParts {
  readonly validator: SchemaValidator;
  readonly run: ToolRunner;
}

/** `/mcp`: about a dozen tools, however many devices there are. */
export class ToolHomeView {
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

  /** TOOL_NOT_FOUND for a name that is not listed: it tells how tools of the home are called. */
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
