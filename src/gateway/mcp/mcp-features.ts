import type { Authorizer } from '../../core/access/authorizer.ts';
import type { Principal } from '../../core/access/principal.ts';
import type { ReadingStore } from '../../core/devices/reading-store.ts';
import type { KnownTools } from '../../tools/elsewhere/known-tools.ts';
import type { MeshPorts } from '../../tools/elsewhere/mesh-outlook.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import type { HomeSearchResult } from '../../tools/search/home-search.ts';
import type { ToolRegistry } from '../../tools/tool-registry.ts';
import type { CallerSight } from '../devices/caller-sight.ts';
import type { CallPort, HealthSource, JobPort } from '../ports.ts';
import type { ToolCatalogue } from '../tools/tool-catalogue.ts';
import { ApprovalQuestions } from './calls/approval-questions.ts';
import { AskingCalls } from './calls/asking-calls.ts';
import { talkFeature } from './calls/talk-feature.ts';
import { LongCalls } from './calls/task-calls.ts';
import { taskFeature } from './calls/task-feature.ts';
import { pipelineRunner } from './calls/tool-runner.ts';
import { type HomeFeatureParts, homeFeatures } from './home-features.ts';
import type { McpEndpointCollaborators } from './mcp-endpoint.ts';
import type { McpFeature, McpNotices } from './mcp-feature.ts';
import { toolFeature } from './tools/tool-feature.ts';

/** Whom the features work with. */
export interface McpParts extends McpEndpointCollaborators, HomeFeatureParts {
  readonly catalogue: ToolCatalogue;
  readonly tools: KnownTools;
  readonly registry: ToolRegistry;
  readonly outlook: Pick<MeshPorts, 'tools'>;
  readonly sight: CallerSight;
  readonly readings: ReadingStore;
  readonly validator: SchemaValidator;
  readonly authorizer: Authorizer;
  readonly pipeline: CallPort;
  readonly jobs: JobPort;
  readonly health: HealthSource;
}

/** All that the server can do. */
export function mcpFeatures(parts: McpParts, notices: McpNotices): readonly McpFeature[] {
  const { catalogue } = parts;
  const approvals = new ApprovalQuestions(parts);
  const asking = new AskingCalls(parts);
  const run = pipelineRunner({ pipeline: parts.pipeline, approvals, asking, longCalls: new LongCalls(parts) });
  const find = (principal: Principal, text: string, limit: number): HomeSearchResult => catalogue.find(principal, { text, limit });
  return [
    toolFeature(
      {
        registry: parts.registry,
        outlook: parts.outlook,
        tools: parts.tools,
        validator: parts.validator,
        authorizer: parts.authorizer,
        catalogue: parts.catalogue,
        reads: parts.reads,
        sight: parts.sight,
        readings: parts.readings,
        clock: parts.clock,
        run,
        find,
      },
      notices,
    ),
    talkFeature(asking),
    ...homeFeatures(
      {
        sight: parts.sight,
        readings: parts.readings,
        directory: parts.directory,
        catalogue: parts.catalogue,
        events: parts.events,
        clock: parts.clock,
        asking,
      },
      notices,
    ),
    taskFeature(parts),
  ];
}
