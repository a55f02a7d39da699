import type { HubConfig } from './config.ts';
import type { Access } from './open-access.ts';
import { approvalTools } from './tools/builtin/approval-tools.ts';
import { clockTools } from './tools/builtin/clock-tools.ts';
import { ownerTools } from './tools/builtin/owner-tools.ts';
import { replayTools } from './tools/builtin/replay-tools.ts';
import { sequenceTool } from './tools/builtin/sequence-tools.ts';
import { tokenTools } from './tools/builtin/token-tools.ts';
import type { CallPipeline } from './tools/call-pipeline.ts';
import type { RegisteredTool } from './tools/tool-definition.ts';
import type { ToolRegistry } from './tools/tool-registry.ts';

interface AccessToolParts {
  readonly access: Access;
  readonly registry: ToolRegistry;
  readonly pipeline: CallPipeline;
}

/** The tools with which people administer who may do what, and read what was done. */
export function accessTools({ access, registry, pipeline }: AccessToolParts, { roles }: HubConfig): readonly RegisteredTool[] {
  const { audit, tokens, time } = access;
  return [
    ...approvalTools(access),
    ...tokenTools({ tokens, roles }),
    ...replayTools({ log: audit, registry }),
    ...clockTools(time),
    ...ownerTools(access),
    sequenceTool(() => pipeline),
  ];
}
