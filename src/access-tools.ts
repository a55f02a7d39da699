import type { HubConfig } from './config.ts';
import type { DeviceDirectory } from './core/device-directory.ts';
import type { Access } from './open-access.ts';
import { approvalTools } from './tools/builtin/approval-tools.ts';
import { auditTools } from './tools/builtin/audit-tools.ts';
import { clockTools } from './tools/builtin/clock-tools.ts';
import { ownerTools } from './tools/builtin/owner-tools.ts';
import { replayTools } from './tools/builtin/replay-tools.ts';
import { ruleTools } from './tools/builtin/rule-tools.ts';
import { sequenceTool } from './tools/builtin/sequence-tools.ts';
import { tokenTools } from './tools/builtin/token-tools.ts';
import type { CallPipeline } from './tools/calls/call-pipeline.ts';
import type { KnownTools } from './tools/known-tools.ts';
import type { SchemaValidator } from './tools/schema/schema-validator.ts';
import type { RegisteredTool } from './tools/tool-definition.ts';
import type { ToolRegistry } from './tools/tool-registry.ts';

interface AccessToolParts {
  readonly access: Access;
  readonly directory: DeviceDirectory;
  readonly registry: ToolRegistry;
  readonly tools: KnownTools;
  readonly validator: SchemaValidator;
  readonly pipeline: CallPipeline;
}

/** The tools with which people administer who may do what, and read what was done. */
export function accessTools(parts: AccessToolParts, { roles }: HubConfig): readonly RegisteredTool[] {
  const { access, directory: devices, registry, tools, validator, pipeline } = parts;
  const { audit, authorizer, rules, tokens, time } = access;
  return [
    ...approvalTools(access),
    ...tokenTools({ tokens, roles }),
    ...auditTools(audit),
    ...replayTools({ log: audit, registry }),
    ...ruleTools({ rules, registry: tools, validator, authorizer, devices }),
    ...clockTools(time),
    ...ownerTools(access),
    sequenceTool(() => pipeline),
  ];
}
