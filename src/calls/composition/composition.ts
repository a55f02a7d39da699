import { parsePermission } from '../../core/auth/permission.ts';
import type { Authorizer, Principal } from '../../core/auth/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import {
  COMPOSED,
  DESTRUCTIVE,
  isDestructive,
  NEEDS_APPROVAL,
  needsApproval,
  type RegisteredTool,
  type ToolDefinition,
} from '../../tools/definition/tool-definition.ts';
import { parseToolName, toolKey } from '../../tools/definition/tool-names.ts';
import {
  callerView,
  effectsOf,
  isTemplate,
  judgeOf,
  placeholdersOf,
  replacePlaceholders,
  requiredPermissions,
} from '../../tools/definition/tool-permissions.ts';
import type { RecordReader } from '../../tools/schema/record-reader.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import { isSchemaObject, visitSchema } from '../../tools/schema/schema-walk.ts';
import { hasSecrets, maskSecrets, SECRET_MASK, withSecretMembers } from '../../tools/schema/secrets.ts';
import { MAX_COMPOSITION_DEPTH } from '../limits.ts';
import { countReferences, hasReferences, parameterOf, referencedParameters, referencedSteps, SEQUENCE, type Step } from './steps.ts';

/** The steps of a composed tool in order, and the template of its result. */
export interface Composition {
  readonly steps: readonly Step[];
  /** The result, with references to results and parameters; if absent, the result of the last step is used. */
  readonly result?: Json;
}

const MAX_STEPS = 16;
/** Maximum number of references to results. It is limited because each reference inserts a copy of a result. */
const MAX_REFERENCES = 64;

/** Reads `steps` and `result`; returns undefined without steps. Throws VALIDATION_ERROR with a JSON pointer if one is malformed. */
export function readComposition(reader: RecordReader): Composition | undefined {
  const steps = reader.children('steps').map(readStep);
  const result = reader.any('result');
  if (steps.length > MAX_STEPS) throw reader.refuse('steps', `may have at most ${MAX_STEPS} steps`);
  if (steps.length === 0 && result !== undefined) throw reader.refuse('result', 'needs steps that it is made from');
  if (steps.length === 0) return undefined;
  const composition = { steps, ...(result !== undefined && { result }) };
  if (countReferences(compositionJson(composition)) <= MAX_REFERENCES) return composition;
  throw reader.refuse('result', `and the steps may hold at most ${MAX_REFERENCES} references to results`);
}

/** Returns the composition as JSON, as used in registrations and in the store. */
export function compositionJson({ steps, result }: Composition): JsonObject {
  return { steps: steps.map(({ tool, params }) => ({ tool, params })), ...(result !== undefined && { result }) };
}

/** Throws VALIDATION_ERROR if a `$param` names no parameter of the tool. */
export function requireKnownParameters(composition: Composition, parameters: readonly string[]): void {
  const unknown = referencedParameters(compositionJson(composition)).find((name) => !parameters.includes(name));
  if (unknown === undefined) return;
  const known = parameters.join(', ') || 'none';
  throw new AtmoError('VALIDATION_ERROR', `{"$param": ${JSON.stringify(unknown)}} is no parameter of the tool; it has ${known}`, {
    pointer: '/steps',
  });
}

function readStep(reader: RecordReader): Step {
  const tool = reader.requiredText('tool');
  const params = reader.object('params') ?? {};
  reader.end();
  const name = parseToolName(tool);
  if (!name) throw reader.refuse('tool', 'has to be the name of a tool');
  if (name.name === SEQUENCE) throw reader.refuse('tool', `cannot be ${name.name}; write its steps into this list`);
  return { tool, params };
}

interface StepCheckContext {
  readonly authorizer: Authorizer;
  readonly validator: SchemaValidator;
  readonly maker: Principal;
  /** Parameters of the composed tool. */
  readonly parameters: JsonSchema;
}

/** A step as it is stored, and the permissions that a caller of the composed tool needs for this step. */
export interface CheckedStep {
  readonly step: Step;
  readonly permissions: readonly string[];
}

/**
 * Checks one step and returns it with its permissions. Throws PERMISSION_DENIED if the maker lacks one of the permissions: makers must not
 * register calls that they could not make. Throws VALIDATION_ERROR if the step's tool does not accept the parameters.
 */
export function checkStep(step: Step, tool: RegisteredTool, by: StepCheckContext): CheckedStep {
  const { maker } = by;
  const authorizer = judgeOf(tool, by.authorizer);
  const isOpen = hasReferences(step.params) || referencedParameters(step.params).length > 0;
  const judged = isOpen ? openStep(step, tool) : fixedStep(step, tool, by);
  const chosen = judged.permissions.flatMap((permission) => permissionsForDefaults(permission, by.parameters));
  const lacking = [...judged.permissions, ...chosen].filter((permission) => {
    if (isTemplate(permission)) return !authorizer.mayTry(maker, permission);
    return !authorizer.authorize(maker, [permission]).allowed;
  });
  if (lacking.length === 0) return judged;
  throw new AtmoError('PERMISSION_DENIED', `${maker.id} lacks ${lacking.join(', ')}, which the step ${step.tool} needs`, {
    required: lacking,
  });
}

/** Checks a step without references and returns it with canonical parameters. Device ids keep it valid if a device is renamed. */
function fixedStep({ tool: name, params }: Step, tool: RegisteredTool, { maker, authorizer, validator }: StepCheckContext): CheckedStep {
  const valid = validator.parameters(tool.definition.parameters, params);
  const canonical = tool.canonicalize?.(valid, callerView(maker, authorizer)) ?? valid;
  const own = requiredPermissions(tool, canonical);
  const effects = tool.hubs ? [] : effectsOf(tool, canonical).map(({ permission }) => permission);
  return { step: { tool: storedName(name, tool), params: canonical }, permissions: [...new Set([...own, ...effects])] };
}

function openStep({ tool: name, params }: Step, tool: RegisteredTool): CheckedStep {
  const permissions = tool.definition.requires.permissions.map((permission) => openPermission(permission, params));
  return { step: { tool: storedName(name, tool), params }, permissions };
}

/** Fills a permission's placeholders with values from the tool's schema. The tool's maker needs the resulting permissions as well. */
function permissionsForDefaults(permission: string, parameters: JsonSchema): readonly string[] {
  return placeholdersOf(permission).flatMap((name) =>
    valuesNamed(parameters, name).map((value) => permission.replaceAll(`{${name}}`, value)),
  );
}

/** Returns the `default`, `const` and `enum` strings of all properties with this name, in the schema and its subschemas. */
function valuesNamed(parameters: JsonSchema, name: string): readonly string[] {
  const values: unknown[] = [];
  visitSchema(parameters, ({ properties }) => {
    const schema = isSchemaObject(properties) ? properties[name] : undefined;
    if (isSchemaObject(schema)) values.push(schema.default, schema.const, ...(Array.isArray(schema.enum) ? schema.enum : []));
  });
  return values.filter((value) => typeof value === 'string');
}

/** Returns the permission that a step needs. If an earlier step's result determines the device, the permission covers all devices. */
function openPermission(permission: string, params: JsonObject): string {
  if (!isTemplate(permission)) return permission;
  const places = new Map(placeholdersOf(permission).map((name) => [name, placeholderOf(params[name])]));
  if ([...places.values()].includes(undefined)) return permission.split(':').slice(0, 2).join(':');
  const filled = replacePlaceholders(permission, (name) => places.get(name) ?? '');
  if (isTemplate(filled) || parsePermission(filled)) return filled;
  throw new AtmoError('VALIDATION_ERROR', `A step that takes references has to name what it is about by id: ${filled} names no one thing`);
}

function placeholderOf(value: Json | undefined): string | undefined {
  if (typeof value === 'string') return value;
  const name = parameterOf(value);
  return name === undefined ? undefined : `{${name}}`;
}

/** Returns a step's tool name as it is stored. If the maker wrote no version, none is stored, and newer versions are used too. */
function storedName(written: string, tool: RegisteredTool): string {
  const version = parseToolName(written)?.version;
  return version === undefined ? toolKey(tool) : `${toolKey(tool)}@${version}`;
}

/**
 * Throws CONFLICT if a composed tool would call itself, directly or through other tools, or if calls would be nested more than four deep.
 * `stepsOf` returns the steps of the composed tool with the given name.
 */
export function requireNoCycle(key: string, steps: readonly Step[], stepsOf: (name: string) => readonly Step[] | undefined): void {
  let level = steps.map(({ tool }) => tool);
  for (let depth = 1; level.length > 0; depth++) {
    if (level.some((name) => name.split('@', 1)[0] === key)) throw cycleRefusal(`${key} would call itself`);
    const next = new Set(level.flatMap((name) => stepsOf(name) ?? []).map(({ tool }) => tool));
    if (level.some((name) => stepsOf(name)) && depth >= MAX_COMPOSITION_DEPTH)
      throw cycleRefusal(`${key} would make a row of more than ${MAX_COMPOSITION_DEPTH} composed tools`);
    level = [...next];
  }
}

function cycleRefusal(problem: string): AtmoError {
  return new AtmoError('CONFLICT', `${problem}; write the steps of the inner tool into this one`, { reason: 'ring' });
}

interface CompositionSource {
  readonly composition: Composition;
  /** The tools of the steps, in order. */
  readonly tools: readonly RegisteredTool[];
  readonly permissions: readonly string[];
}

const TIMEOUT_MS = 120_000;
const MAX_NAMED = 8;

/**
 * Completes the maker's definition with the fields that depend on the steps, such as the permissions. If a step is dangerous, the composed
 * tool is not: people approve the step, unless a rule made them approve the composed tool and they saw the step with it.
 */
export function composedDefinition(draft: ToolDefinition, { tools, permissions, composition }: CompositionSource): ToolDefinition {
  const inner = tools.map(({ definition }) => definition);
  const isAnyDangerous = inner.some(needsApproval);
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
      // Capabilities of the steps are not added: each step is a separate call, and only the hub that runs it needs them.
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

function secretParameters(steps: readonly Step[], inner: readonly ToolDefinition[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [index, { params }] of steps.entries()) {
    maskSecrets(inner[index]?.parameters ?? {}, params, (value) => {
      for (const name of referencedParameters(value)) names.add(name);
      return SECRET_MASK;
    });
  }
  return names;
}

/** Returns whether the result of the composed tool uses a step whose result may contain secrets. */
function answersSecrets({ steps, result }: Composition, inner: readonly ToolDefinition[]): boolean {
  const taken = result === undefined ? [steps.length - 1] : referencedSteps(result);
  return taken.some((index) => hasSecrets(inner[index]?.returns ?? {}));
}

/** Returns a sentence that names the called tools. It becomes part of the description, for callers who do not know the steps. */
function stepsInWords(tools: readonly RegisteredTool[]): string {
  const names = tools.map(toolKey);
  const rest = names.length - MAX_NAMED;
  return `Calls ${names.slice(0, MAX_NAMED).join(', then ')}${rest > 0 ? `, and ${rest} more` : ''}.`;
}
