import { COMPOSED, DESTRUCTIVE, isDestructive, NEEDS_APPROVAL } from '../definition/destructive-tool.ts';
import type { RegisteredTool, ToolDefinition } from '../definition/tool-definition.ts';
import { toolKey } from '../definition/tool-name.ts';
import { hasSecrets, maskSecrets, SECRET_MASK, withSecretMembers } from '../schema/secret-params.ts';
import { parametersIn, stepsIn } from '../steps/step-reference.ts';
import type { Step } from '../steps/step-runner.ts';
import type { Composition } from './composition.ts';

interface ComposedOf {
  readonly composition: Composition;
  /** Those of its steps, in order. */
  readonly tools: readonly RegisteredTool[];
  readonly permissions: readonly string[];
}

const TIMEOUT_MS = 120_000;
const MAX_NAMED = 8;

/**
 * The definition of a composed tool: what its maker says of it, and of what it is made up to where the steps say it better.
 * A dangerous step is approved as the call that it is; the whole asks for no second approval.
 */
export function composedDefinition(draft: ToolDefinition, { tools, permissions, composition }: ComposedOf): ToolDefinition {
  const inner = tools.map(({ definition }) => definition);
  const isAnyDangerous = inner.some(({ metadata }) => metadata.isDangerous || metadata.tags.includes(NEEDS_APPROVAL));
  const isAnyDestructive = inner.some(isDestructive);
  const harm = isAnyDangerous ? [NEEDS_APPROVAL] : isAnyDestructive ? [DESTRUCTIVE] : [];
  const { isTimeoutDefault, ...execution } = draft.execution;
  const secrets = secretParameters(composition.steps, inner);
  return {
    ...draft,
    description: `${draft.description.trim()} ${stepsInWords(tools)}`,
    parameters: withSecretMembers(draft.parameters, (name) => secrets.has(name)),
    returns: answersSecrets(composition, inner) ? { ...draft.returns, 'x-secret': true } : draft.returns,
    requires: {
      ...draft.requires,
      // What a step needs, the hub must have on which the step runs: it is a call of its own.
      permissions: [...new Set([...draft.requires.permissions, ...permissions])],
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
      tags: [...new Set([...draft.metadata.tags, COMPOSED, ...harm])],
    },
  };
}

/** Parameters that a step passes on as something secret, whatever they are called here. */
function secretParameters(steps: readonly Step[], inner: readonly ToolDefinition[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [index, { params }] of steps.entries()) {
    maskSecrets(inner[index]?.parameters ?? {}, params, (value) => {
      for (const name of parametersIn(value)) names.add(name);
      return SECRET_MASK;
    });
  }
  return names;
}

/** True where the answer takes anything from a step that answers secrets, by whatever name. */
function answersSecrets({ steps, result }: Composition, inner: readonly ToolDefinition[]): boolean {
  const taken = result === undefined ? [steps.length - 1] : stepsIn(result);
  return taken.some((index) => hasSecrets(inner[index]?.returns ?? {}));
}

/** Who is about to call a tool that somebody else made can read what it does. */
function stepsInWords(tools: readonly RegisteredTool[]): string {
  const names = tools.map(toolKey);
  const rest = names.length - MAX_NAMED;
  return `Calls ${names.slice(0, MAX_NAMED).join(', then ')}${rest > 0 ? `, and ${rest} more` : ''}.`;
}
