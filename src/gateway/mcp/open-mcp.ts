import type { CallerSight } from '../devices/caller-sight.ts';
import type { CallPort, HealthSource } from '../ports.ts';
import type { ToolCatalogue } from '../tools/tool-catalogue.ts';
import { McpEndpoint, type McpEndpointCollaborators } from './mcp-endpoint.ts';
import { toolFeature } from './tool-feature.ts';
import { pipelineRunner } from './tool-runner.ts';

/** What the parts of the MCP door work with. */
export interface McpCollaborators extends McpEndpointCollaborators {
  readonly catalogue: ToolCatalogue;
  readonly sight: CallerSight;
  readonly pipeline: CallPort;
  readonly health: HealthSource;
}

/** The MCP door with all its parts. */
export function openMcp(collaborators: McpCollaborators): McpEndpoint {
  const { pipeline, health } = collaborators;
  const run = pipelineRunner(pipeline);
  return new McpEndpoint(collaborators, {
    version: () => health.health().version,
    features: () => [toolFeature({ ...collaborators, run })],
  });
}
