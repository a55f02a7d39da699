import { McpEndpoint } from './mcp-endpoint.ts';
import type { McpParts } from './mcp-features.ts';

/** The MCP door with all its parts. They are loaded when the first client comes, as the SDK is. */
export function openMcp(parts: McpParts): McpEndpoint {
  return new McpEndpoint(parts, {
    version: () => parts.health.health().version,
    features: async (notices) => (await import('./mcp-features.ts')).mcpFeatures(parts, notices),
  });
}
