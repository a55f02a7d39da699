import { AtmoError } from '../core/errors.ts';
import type { RegisteredTool } from './tool-definition.ts';

/** The tool as it is while the owner has not configured what it needs; `missingSetting` says what to set. */
export function withoutSetting(tool: RegisteredTool, missingSetting: string): RegisteredTool {
  return {
    ...tool,
    missingSetting,
    isAvailable: () => false,
    handler: async () => {
      throw notConfigured(tool.id, missingSetting);
    },
  };
}

/** NOT_CONFIGURED for a tool, with what to set. */
export function notConfigured(tool: string, missingSetting: string): AtmoError {
  return new AtmoError('NOT_CONFIGURED', `The tool ${tool} is not configured: ${missingSetting}`, { tool });
}
