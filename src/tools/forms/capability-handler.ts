import { AtmoError } from '../../core/errors.ts';
import { normalizeDefinition } from '../definition/normalize-definition.ts';
import type { RegisteredTool, ToolDefinition } from '../definition/tool-definition.ts';
import { fromToolHandler, type ToolHandler } from './tool-handler.ts';

/** Something that the hub has and the tools that come with it (source 000 §9, CapabilityWithTools). */
export interface CapabilityHandler {
  /** What the hub has, such as `vision`: a record of its own, apart from the tools (source 000 §1). */
  readonly capability: { readonly type: string; readonly description: string };
  readonly tools: readonly ToolDefinition[];
  getToolHandler(name: string): ToolHandler | undefined;
}

/** The tools of a capability; each needs the capability from now on. CONFIG_INVALID when a listed tool has no handler. */
export function toolsOfCapability(handler: CapabilityHandler): readonly RegisteredTool[] {
  return handler.tools.map((definition) => {
    const toolHandler = handler.getToolHandler(definition.name);
    if (!toolHandler) {
      throw new AtmoError('CONFIG_INVALID', `The capability ${handler.capability.type} lists ${definition.name} and has no handler for it`);
    }
    return requiring(handler.capability.type, fromToolHandler(toolHandler));
  });
}

/** A capability from its class tools. */
export function capabilityOf(capability: CapabilityHandler['capability'], handlers: readonly ToolHandler[]): CapabilityHandler {
  const byName = new Map(handlers.map((handler) => [normalizeDefinition(handler.definition).name, handler]));
  return {
    capability,
    tools: handlers.map((handler) => normalizeDefinition(handler.definition)),
    getToolHandler: (name) => byName.get(name),
  };
}

function requiring(capability: string, tool: RegisteredTool): RegisteredTool {
  const { requires } = tool.definition;
  const capabilities = [...new Set([capability, ...requires.capabilities])];
  return { ...tool, definition: { ...tool.definition, requires: { ...requires, capabilities } } };
}
