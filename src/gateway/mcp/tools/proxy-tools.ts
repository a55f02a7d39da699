import type { Authorizer } from '../../../core/access/authorizer.ts';
import type { Principal } from '../../../core/access/principal.ts';
import { AtmoError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../core/json.ts';
import { previewRisk } from '../../../tools/calls/call-preview.ts';
import { NEEDS_APPROVAL } from '../../../tools/definition/destructive-tool.ts';
import type { RegisteredTool } from '../../../tools/definition/tool-definition.ts';
import type { KnownTools } from '../../../tools/elsewhere/known-tools.ts';
import { p } from '../../../tools/schema/parameter-builder.ts';
import type { SchemaValidator } from '../../../tools/schema/schema-validator.ts';
import type { ReadPace } from '../../door/read-pace.ts';
import type { ToolCatalogue } from '../../tools/tool-catalogue.ts';
import type { ToolRunner } from '../calls/tool-run.ts';
import type { McpCaller } from '../mcp-feature.ts';
import { type HomeTool, homeTool } from './home-tool.ts';

/** What names of tools are looked up with. */
export interface NamedToolParts {
  readonly catalogue: ToolCatalogue;
  readonly reads: Pick<ReadPace, 'take'>;
}

/** TOOL_NOT_FOUND and AMBIGUOUS_TOOL with candidates, at the pace of reading: such a call comes to no rate limit of calls. */
export async function toolNamed({ catalogue, reads }: NamedToolParts, principal: Principal, name: string): Promise<RegisteredTool> {
  await catalogue.whole(principal, name);
  const tool = catalogue.known(principal, name);
  if (tool) return tool;
  reads.take(principal);
  return catalogue.resolve(principal, name);
}

/** What tools are called by name with. */
export interface ProxyParts extends NamedToolParts {
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
        description: 'Runs a tool that only reads. Example: {"name": "<name from search_tools>", "arguments": {}}.',
        parameters: PARAMETERS,
      },
      through('read_tool'),
    ),
    homeTool(
      {
        name: 'control_tool',
        title: 'Control with a tool',
        description:
          'Runs a tool that changes something and is not dangerous. Example: {"name": "<name from search_tools>", "arguments": {"brightness": 40}}.',
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
  const tool = await toolNamed(parts, caller.principal, name);
  const ports = { registry: parts.tools, validator: parts.validator, authorizer: parts.authorizer };
  const risk = previewRisk(ports, { tool: tool.id, params, viewer: caller.principal });
  const fitting = risk === 'dangerous' ? 'sensitive_tool' : proxyOf(tool);
  if (fitting === proxy) return parts.run({ tool, params, listing: 'open' }, caller);
  throw new AtmoError(
    'VALIDATION_ERROR',
    `${parts.catalogue.modelName(tool)} ${WHY[fitting]}; call it by ${fitting} with the same arguments`,
    {
      call_with: fitting,
    },
  );
}

const WHY: Readonly<Record<ProxyName, string>> = {
  read_tool: 'only reads',
  control_tool: 'changes something and is not dangerous',
  sensitive_tool: 'is dangerous with these arguments',
};
