import type { Effect } from '../../core/access/authorizer.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import { INVOCATION_POLICY } from '../calls/bounds/invocation-policy.ts';
import { hasGivenNames, withGivenNames } from '../schema/given-names.ts';
import { ownSchema } from '../schema/own-schema.ts';
import { objectSchema, type Shape, type ValuesOf } from '../schema/parameter-builder.ts';
import { DESTRUCTIVE } from './destructive-tool.ts';
import type { CallerView, RegisteredTool, ToolContext, ToolDefinition } from './tool-definition.ts';
import { toolId } from './tool-name.ts';

type Metadata = ToolDefinition['metadata'];

/** A tool in the words of TypeScript; what is left out gets the careful value. */
export interface ToolDeclaration<S extends Shape> {
  readonly name: string;
  /** Default `core`. */
  readonly namespace?: string;
  /** Default 1.0.0. */
  readonly version?: string;
  readonly title: string;
  readonly description: string;
  readonly category: Metadata['category'];
  readonly parameters: S;
  /** Any JSON when absent. */
  readonly returns?: JsonSchema;
  readonly capabilities?: readonly string[];
  readonly permissions?: readonly string[];
  /** False only for tools that read or compute. */
  readonly hasSideEffects: boolean;
  readonly isIdempotent?: boolean;
  readonly isAsyncAllowed?: boolean;
  readonly isDangerous?: boolean;
  /** It replaces or ends something for good, or has other tools do so, and neither its name nor its danger says it. */
  readonly isDestructive?: true;
  /** Distinct persons who have to approve a dangerous call; default 1. */
  readonly approvalsNeeded?: number;
  /** What the journal keeps beside hashes; default everything but secrets. */
  readonly audit?: Partial<Metadata['audit']>;
  readonly needsNetwork?: boolean;
  /** It tells parts of its result with `context.progress`. */
  readonly isStreamSupported?: boolean;
  /** Goes to a hub with a GPU where one has it as well. */
  readonly isGpuPreferred?: boolean;
  readonly determinism?: ToolDefinition['execution']['determinism'];
  /** The hub's default when absent. */
  readonly timeoutMs?: number;
  readonly retries?: number;
  /** Longest JSON text of its parameters, at most 16 MiB; the hub's bound when absent. For tools that take files. */
  readonly maxParamsBytes?: number;
  readonly preferLocal?: boolean;
  readonly hopLimit?: number;
  /** Names or roles of the hubs that may run it; any when absent. */
  readonly nodeAffinity?: readonly string[];
  readonly tags?: readonly string[];
  /** Room of what it acts on. */
  readonly area?: string;
  readonly examples?: Metadata['examples'];
  readonly effects?: (params: ValuesOf<S>) => readonly Effect[];
  readonly canonicalize?: (params: ValuesOf<S>, caller: CallerView) => JsonObject;
}

/** A tool from its declaration and handler; the handler's parameters have the types of `parameters`. */
export function defineTool<const S extends Shape>(
  declaration: ToolDeclaration<S>,
  handler: (params: ValuesOf<S>, context: ToolContext) => Promise<Json>,
): RegisteredTool {
  const definition = definitionOf(declaration);
  const { effects } = declaration;
  const canonicalize = canonicalizerOf(declaration, definition.parameters);
  // The validator stands between: what reaches a handler fits the schema that its parameter types were inferred from.
  const typed = (params: JsonObject) => params as unknown as ValuesOf<S>;
  return {
    id: toolId(definition),
    definition,
    handler: async (params, context) => handler(typed(params), context),
    ...(effects && { effects: (params: JsonObject) => effects(typed(params)) }),
    ...(canonicalize && { canonicalize }),
  };
}

/** Names that people give are kept as they are seen, before anything is looked up by them. */
function canonicalizerOf<S extends Shape>({ canonicalize }: ToolDeclaration<S>, schema: JsonSchema): RegisteredTool['canonicalize'] {
  const named = hasGivenNames(schema) ? (params: JsonObject) => withGivenNames(schema, params) : undefined;
  if (!canonicalize) return named;
  return (params, caller) => canonicalize((named ? named(params) : params) as unknown as ValuesOf<S>, caller);
}

function definitionOf<S extends Shape>(declaration: ToolDeclaration<S>): ToolDefinition {
  const network = declaration.needsNetwork ?? false;
  return {
    name: declaration.name,
    namespace: declaration.namespace ?? 'core',
    version: declaration.version ?? '1.0.0',
    description: declaration.description,
    parameters: ownSchema(objectSchema(declaration.parameters)),
    returns: ownSchema(declaration.returns ?? {}),
    requires: {
      capabilities: declaration.capabilities ?? [],
      permissions: declaration.permissions ?? [],
      network,
      gpu: false,
      gpuPreferred: declaration.isGpuPreferred ?? false,
    },
    execution: executionOf(declaration),
    routing: {
      preferLocal: declaration.preferLocal ?? false,
      nodeAffinity: declaration.nodeAffinity ?? [],
      hopLimit: declaration.hopLimit ?? 3,
      preferGpu: declaration.isGpuPreferred ?? false,
    },
    metadata: {
      title: declaration.title,
      category: declaration.category,
      tags: [...(declaration.tags ?? []), ...(declaration.isDestructive ? [DESTRUCTIVE] : [])],
      author: 'atmosphere-edge',
      ...(declaration.area !== undefined && { area: declaration.area }),
      examples: declaration.examples ?? [],
      createdBy: 'system',
      isDangerous: declaration.isDangerous ?? false,
      ...(declaration.approvalsNeeded !== undefined && { approvalsNeeded: declaration.approvalsNeeded }),
      audit: { logParams: true, logResult: true, notifyAdmins: declaration.isDangerous ?? false, ...declaration.audit },
    },
  };
}

function executionOf<S extends Shape>(declaration: ToolDeclaration<S>): ToolDefinition['execution'] {
  return {
    timeoutMs: declaration.timeoutMs ?? INVOCATION_POLICY.timeoutMs,
    ...(declaration.timeoutMs === undefined && { isTimeoutDefault: true as const }),
    retries: declaration.retries ?? (declaration.needsNetwork ? INVOCATION_POLICY.retries : 0),
    isIdempotent: declaration.isIdempotent ?? !declaration.hasSideEffects,
    isAsyncAllowed: declaration.isAsyncAllowed ?? false,
    isStreamSupported: declaration.isStreamSupported ?? false,
    hasSideEffects: declaration.hasSideEffects,
    determinism: declaration.determinism ?? 'nondeterministic',
    ...(declaration.maxParamsBytes !== undefined && { maxParamsBytes: declaration.maxParamsBytes }),
  };
}
