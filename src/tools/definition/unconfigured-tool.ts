import { AtmoError } from '../../core/errors.ts';
import type { RegisteredTool } from './tool-definition.ts';

/**
 * The tool as it is while the owner has not configured what it needs; `missingSetting` says what to set. What a call does is judged
 * where it can run: here nothing is known of it.
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

/** The tool as one whose setting may come to be missing, or be there, while the hub runs; `missing` says what to set. */
export function whileConfigured(tool: RegisteredTool, missing: () => string | undefined): RegisteredTool {
  return { ...tool, missingSetting: missing, isAvailable: () => missing() === undefined };
}

/** NOT_CONFIGURED for a tool, with what to set. */
export function notConfigured(tool: string, missingSetting: string): AtmoError {
  return new AtmoError('NOT_CONFIGURED', `The tool ${tool} is not configured: ${missingSetting}`, { tool });
}
