import type { JsonObject } from '../../core/json.ts';
import { TOOL_SCHEMA_ID, type ToolDefinition } from '../definition/tool-definition.ts';
import { copyJsonObject, RESULT_LIMITS } from '../schema/plain-json.ts';

/** A definition in the public form of source 000 §2; `normalizeDefinition` turns it back into an equal one. */
export function toPublicDefinition(definition: ToolDefinition): JsonObject {
  const { name, namespace, version, description, parameters, returns } = definition;
  const tool = {
    name,
    namespace,
    version,
    description,
    parameters,
    returns,
    requires: publicRequires(definition),
    execution: publicExecution(definition.execution),
    routing: publicRouting(definition.routing),
    metadata: publicMetadata(definition.metadata),
    dangerous: definition.metadata.isDangerous,
    audit: publicAudit(definition.metadata.audit),
  };
  return copyJsonObject({ $schema: TOOL_SCHEMA_ID, tool }, RESULT_LIMITS);
}

function publicRequires({ requires, metadata }: ToolDefinition): object {
  return {
    capabilities: requires.capabilities,
    permissions: requires.permissions,
    network: requires.network,
    gpu: requires.gpu,
    gpu_preferred: requires.gpuPreferred,
    multi_party: metadata.approvalsNeeded,
  };
}

function publicExecution(execution: ToolDefinition['execution']): object {
  return {
    timeout_ms: execution.isTimeoutDefault ? undefined : execution.timeoutMs,
    retries: execution.retries,
    idempotent: execution.isIdempotent,
    async_allowed: execution.isAsyncAllowed,
    stream_supported: execution.isStreamSupported,
    side_effects: execution.hasSideEffects,
    determinism: execution.determinism,
    max_memory_bytes: execution.maxMemoryBytes,
    max_fuel: execution.maxFuel,
    max_params_bytes: execution.maxParamsBytes,
  };
}

function publicRouting(routing: ToolDefinition['routing']): object {
  return {
    prefer_local: routing.preferLocal,
    node_affinity: routing.nodeAffinity,
    hop_limit: routing.hopLimit,
    prefer_gpu: routing.preferGpu,
  };
}

function publicMetadata(metadata: ToolDefinition['metadata']): object {
  const { title, category, tags, author, examples, device, area, createdBy } = metadata;
  return { title, category, tags, author, examples, device, area, created_by: createdBy };
}

function publicAudit({ logParams, logResult, notifyAdmins }: ToolDefinition['metadata']['audit']): object {
  return { log_params: logParams, log_result: logResult, notify_admins: notifyAdmins };
}
