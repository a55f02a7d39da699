import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { toMcp } from '../../tools/forms/tool-export.ts';
import { copyJsonObject, RESULT_LIMITS } from '../../tools/schema/plain-json.ts';
import type { ToolCatalogue } from '../tools/tool-catalogue.ts';
import type { McpCaller, McpFeature } from './mcp-feature.ts';
import type { ToolRunner } from './tool-runner.ts';

/** What tools are listed and called with. */
export interface ToolFeatureParts {
  readonly catalogue: ToolCatalogue;
  readonly run: ToolRunner;
}

/** `tools/list` and `tools/call`. */
export function toolFeature(parts: ToolFeatureParts): McpFeature {
  return {
    capabilities: { tools: { listChanged: true } },
    methods: {
      'tools/list': async (_params, caller) => list(parts, caller),
      'tools/call': (params, caller) => call(parts, params, caller),
    },
  };
}

function list({ catalogue }: ToolFeatureParts, { principal }: McpCaller): JsonObject {
  const { tools } = catalogue.page(principal, {});
  return { tools: tools.map((tool) => copyJsonObject(toMcp(tool.definition, catalogue.modelName(tool)), RESULT_LIMITS)) };
}

async function call({ catalogue, run }: ToolFeatureParts, params: JsonObject, caller: McpCaller): Promise<JsonObject> {
  const { name, arguments: given = {} } = params;
  if (typeof name !== 'string' || !isJsonObject(given)) throw new AtmoError('VALIDATION_ERROR', 'tools/call needs a name and arguments');
  return run({ tool: catalogue.resolve(caller.principal, name), params: given }, caller);
}
