import { AtmoError } from '../../core/errors.ts';
import type { RegisteredTool } from './tool-definition.ts';

/**
 * Returns the tool for a hub whose owner has not configured it; `missingSetting` names the setting. The effects of a call are checked on
 * a hub that can run it: they are not known here.
 */
export function unconfigured({ canonicalize: _, effects: __, ...tool }: RegisteredTool, missingSetting: string): RegisteredTool {
  return {
    ...tool,
    missingSetting: () => missingSetting,
    isAvailable: () => false,
    handler: async () => {
      throw notConfigured(tool.id, missingSetting);
    },
  };
}

/** Returns the tool as one whose setting may appear or go while the hub runs; `missing` names the setting. */
export function whileConfigured(tool: RegisteredTool, missing: () => string | undefined): RegisteredTool {
  return { ...tool, missingSetting: missing, isAvailable: () => missing() === undefined };
}

/** Returns NOT_CONFIGURED for a tool, with the missing setting. */
export function notConfigured(tool: string, missingSetting: string): AtmoError {
  return new AtmoError('NOT_CONFIGURED', `The tool ${tool} is not configured: ${missingSetting}`, { tool });
}
