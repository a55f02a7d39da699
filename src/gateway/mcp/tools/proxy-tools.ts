import { type Authorizer, maxRisk, type Risk } from '../../../core/access/authorizer.ts';
import { AtmoError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../core/json.ts';
import { previewCall } from '../../../tools/calls/call-preview.ts';
import type { RegisteredTool } from '../../../tools/definition/tool-definition.ts';
import type { KnownTools } from '../../../tools/elsewhere/known-tools.ts';
import { NEEDS_APPROVAL } from '../../../tools/registration/composed-definition.ts';
import { p } from '../../../tools/schema/parameter-builder.ts';
import type { SchemaValidator } from '../../../tools/schema/schema-validator.ts';
import type { ToolCatalogue } from '../../tools/tool-catalogue.ts';
import type { ToolRunner } from '../calls/tool-run.ts';
import type { McpCaller } from '../mcp-feature.ts';
import { type HomeTool, homeTool } from './home-tool.ts';

/** What tools are called by name with. */
export interface ProxyParts {
  readonly catalogue: ToolCatalogue;
  readonly tools: KnownTools;
  readonly validator: SchemaValidator;
  readonly authorizer: Authorizer;
  readonly run: ToolRunner;
}

/** The tools of the default view that call all others, apart by what a call can do, so that hosts can allow each kind by itself. */
export type ProxyName = 'read_tool' | 'control_tool' | 'sensitive_tool';

const PARAMETERS = {
  name: p.string({ description: 'Name of a tool, from search_tools', maxLength: 160 }),
  arguments: p.record({ description: 'Its arguments', default: {} }),
};

/** `read_tool`, `control_tool` and `sensitive_tool`. Each refuses what another one is for and names it. */
export function proxyTools(parts: ProxyParts): readonly HomeTool[] {
  const through = (proxy: ProxyName) => (params: { readonly name: string; readonly arguments: JsonObject }, caller: McpCaller) =>
    callThrough(proxy, parts, { ...params, caller });
  return [
    homeTool(
      {
        name: 'read_tool',
        title: 'Read with a tool',
        description: 'Runs a tool that only reads. Example: {"name": "hall_sensor_get_temperature", "arguments": {}}',
        parameters: PARAMETERS,
      },
      through('read_tool'),
    ),
    homeTool(
      {
        name: 'control_tool',
        title: 'Control with a tool',
        description:
          'Runs a tool that changes something and is not dangerous. Example: {"name": "desk_lamp_set_brightness", "arguments": {"brightness": 40}}',
        parameters: PARAMETERS,
        effect: 'acts',
      },
      through('control_tool'),
    ),
    homeTool(
      {
        name: 'sensitive_tool',
        title: 'Ask for something dangerous',
        description:
          'Runs a dangerous tool (unlock, open a garage, reset). A person has to approve each call: the first answer is APPROVAL_REQUIRED; call again with the same arguments once approved. You cannot approve.',
        parameters: PARAMETERS,
        effect: 'endangers',
      },
      through('sensitive_tool'),
    ),
  ];
}

/** The proxy that a tool's definition asks for; its effects with certain parameters may ask for a stricter one. */
export function proxyOf({ definition: { execution, metadata } }: Pick<RegisteredTool, 'definition'>): ProxyName {
  if (metadata.isDangerous || metadata.tags.includes(NEEDS_APPROVAL)) return 'sensitive_tool';
  return execution.hasSideEffects ? 'control_tool' : 'read_tool';
}

interface ProxiedCall {
  readonly name: string;
  readonly arguments: JsonObject;
  readonly caller: McpCaller;
}

async function callThrough(proxy: ProxyName, parts: ProxyParts, { name, arguments: params, caller }: ProxiedCall): Promise<JsonObject> {
  const tool = parts.catalogue.resolve(caller.principal, name);
  const fitting = riskOf(parts, { tool, params, caller }) === 'dangerous' ? 'sensitive_tool' : proxyOf(tool);
  if (fitting === proxy) return parts.run({ tool, params, listing: 'open' }, caller);
  throw new AtmoError('VALIDATION_ERROR', `${tool.id} ${WHY[fitting]}; call it by ${fitting} with the same arguments`, {
    call_with: fitting,
  });
}

const WHY: Readonly<Record<ProxyName, string>> = {
  read_tool: 'only reads',
  control_tool: 'changes something and is not dangerous',
  sensitive_tool: 'is dangerous with these arguments',
};

interface RiskWish {
  readonly tool: RegisteredTool;
  readonly params: JsonObject;
  readonly caller: McpCaller;
}

/** The risk of what the call will do: a generic tool is as dangerous as what it is told to do. */
function riskOf({ tools, validator, authorizer }: ProxyParts, { tool, params, caller }: RiskWish): Risk {
  try {
    const ports = { registry: tools, validator, authorizer };
    const { effects } = previewCall(ports, { tool: tool.id, params, viewer: caller.principal });
    return effects.reduce<Risk>((risk, effect) => maxRisk(risk, effect.risk), 'none');
  } catch {
    // What is wrong with the parameters the call itself will tell; it does nothing then.
    return 'none';
  }
}
