import type { Principal } from '../../core/access/principal.ts';
import type { JsonObject } from '../../core/json.ts';
import type { CallPipeline } from '../calls/call-pipeline.ts';

/** What is asked: a tool by name, for a caller, with parameters when they are known already. */
export interface PermissionCheckContext {
  readonly principal: Principal;
  readonly tool: string;
  readonly params?: JsonObject;
}

/** Whether the call would be let through; the reason is what the caller of the tool would be told. */
export interface PermissionCheckResult {
  readonly isAllowed: boolean;
  readonly reason?: string;
}

/** Says beforehand what the pipeline would decide (source 002 §2.7, ToolPermissionManager); it has no rules of its own. */
export class ExecutionPermission {
  readonly #pipeline: Pick<CallPipeline, 'preflight' | 'preflightTool'>;

  constructor(collaborators: { readonly pipeline: Pick<CallPipeline, 'preflight' | 'preflightTool'> }) {
    this.#pipeline = collaborators.pipeline;
  }

  /** Without parameters: whether there is any call of the tool that the caller may make. */
  async isExecutionAllowed({ params, ...request }: PermissionCheckContext): Promise<PermissionCheckResult> {
    const verdict = await (params === undefined ? this.#pipeline.preflightTool(request) : this.#pipeline.preflight({ ...request, params }));
    if (verdict.allowed) return { isAllowed: true };
    return { isAllowed: false, reason: `${verdict.error.code}: ${verdict.error.message}` };
  }
}
