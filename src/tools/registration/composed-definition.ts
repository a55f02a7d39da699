import type { RegisteredTool, ToolDefinition } from '../definition/tool-definition.ts';
import { toolKey } from '../definition/tool-name.ts';

const TIMEOUT_MS = 120_000;
const MAX_NAMED = 8;
/** Tag of a tool that is composed of others. */
export const COMPOSED = 'composed';
/** Tag of one of which a step has to be approved by a person. */
export const NEEDS_APPROVAL = 'needs_approval';

/**
 * The definition of a composed tool: what its maker says of it, and of what it is made up to where the steps say it better.
 * A dangerous step is approved as the call that it is; the whole asks for no second approval.
 */
export function composedDefinition(
  draft: ToolDefinition,
  { tools, permissions }: { readonly tools: readonly RegisteredTool[]; readonly permissions: readonly string[] },
): ToolDefinition {
  const inner = tools.map(({ definition }) => definition);
  const isAnyDangerous = inner.some(({ metadata }) => metadata.isDangerous || metadata.tags.includes(NEEDS_APPROVAL));
  const { isTimeoutDefault, ...execution } = draft.execution;
  return {
    ...draft,
    description: `${draft.description.trim()} ${stepsInWords(tools)}`,
    requires: {
      ...draft.requires,
      capabilities: [...new Set([...draft.requires.capabilities, ...inner.flatMap(({ requires }) => requires.capabilities)])],
      permissions: [...new Set([...draft.requires.permissions, ...permissions])],
      network: inner.some(({ requires }) => requires.network),
    },
    execution: {
      ...execution,
      timeoutMs: isTimeoutDefault ? TIMEOUT_MS : execution.timeoutMs,
      retries: 0,
      isIdempotent: inner.every((one) => one.execution.isIdempotent),
      isAsyncAllowed: true,
      isStreamSupported: false,
      hasSideEffects: inner.some((one) => one.execution.hasSideEffects),
      determinism: 'nondeterministic',
    },
    metadata: {
      ...draft.metadata,
      isDangerous: draft.metadata.isDangerous && !isAnyDangerous,
      tags: [...new Set([...draft.metadata.tags, COMPOSED, ...(isAnyDangerous ? [NEEDS_APPROVAL] : [])])],
    },
  };
}

/** Who is about to call a tool that somebody else made can read what it does. */
function stepsInWords(tools: readonly RegisteredTool[]): string {
  const names = tools.map(toolKey);
  const rest = names.length - MAX_NAMED;
  return `Calls ${names.slice(0, MAX_NAMED).join(', then ')}${rest > 0 ? `, and ${rest} more` : ''}.`;
}
