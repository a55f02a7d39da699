import { parsePermission } from '../../core/auth/permission.ts';
import { type JsonSchema, pointerSegment } from '../../core/json.ts';
import { LARGE_PARAMS_LIMITS } from '../schema/plain-json.ts';
import type { SchemaValidator } from '../schema/schema-validator.ts';
import { isSchemaObject, visitSchema } from '../schema/schema-walk.ts';
import { hasUnmaskableSecrets } from '../schema/secrets.ts';
import { DETERMINISMS, type RegisteredTool, type ToolDefinition } from './tool-definition.ts';
import { isTemplate, placeholdersOf } from './tool-permissions.ts';

/** A finding of the lint. A finding with the severity `error` prevents the registration of the tool. */
export interface LintFinding {
  readonly severity: 'error' | 'warning';
  readonly pointer: string;
  readonly message: string;
}

/** Maximum timeout of a call: one day. A longer call would outlast its idempotency key, which is stored for one day. */
const MAX_TIMEOUT_MS = 86_400_000;
const TYPE_KEYWORDS = ['type', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', '$ref'];

/** Returns the mistakes of a definition, such as missing descriptions, invalid examples, and limits that the hub cannot enforce. */
export function lintDefinition(
  definition: ToolDefinition,
  validator: SchemaValidator,
  isolation?: RegisteredTool['isolation'],
): readonly LintFinding[] {
  return [
    ...lintDescription(definition),
    ...lintSchema(definition.parameters, '/parameters'),
    ...lintReferences(definition.returns, '/returns'),
    ...lintSecrets(definition),
    ...lintPermissions(definition),
    ...lintExamples(definition, validator),
    ...lintDeclared(definition),
    ...lintBounds(definition, isolation),
  ];
}

function lintDescription(definition: ToolDefinition): readonly LintFinding[] {
  if (definition.description.trim() !== '') return [];
  return [error('/description', 'A tool needs a description: people and models choose by it')];
}

function lintSchema(schema: JsonSchema, pointer: string): readonly LintFinding[] {
  if (schema.type !== 'object') return [error(`${pointer}/type`, 'The root type of parameters has to be "object"')];
  const properties = Object.entries(isSchemaObject(schema.properties) ? schema.properties : {});
  const unclear = properties.flatMap(([name, property]) => lintProperty(property, `${pointer}/properties/${pointerSegment(name)}`));
  const required = Array.isArray(schema.required) ? schema.required : [];
  const absent = required.filter((name) => !properties.some(([known]) => known === name));
  return [
    ...unclear,
    ...absent.map((name) => error(`${pointer}/required`, `Required parameter ${JSON.stringify(name)} is not among the properties`)),
    ...lintReferences(schema, pointer),
  ];
}

function lintProperty(property: unknown, pointer: string): readonly LintFinding[] {
  if (!isSchemaObject(property)) return [];
  const findings: LintFinding[] = [];
  const hasOnlyWording = Object.keys(property).every((key) => key === 'description' || key === 'title' || key.startsWith('x-'));
  if (!TYPE_KEYWORDS.some((key) => key in property) && !(hasOnlyWording && 'description' in property)) {
    findings.push(warning(pointer, 'The parameter has no type'));
  }
  if (typeof property.description !== 'string' || property.description.trim() === '') {
    findings.push(warning(pointer, 'The parameter has no description'));
  }
  return findings;
}

/** Returns findings about references. A reference may only point into the same schema, since the hub never fetches schemas. */
function lintReferences(schema: JsonSchema, pointer: string): readonly LintFinding[] {
  const findings: LintFinding[] = [];
  visitSchema(schema, (child, path) => {
    if (typeof child.$ref === 'string' && !child.$ref.startsWith('#')) {
      findings.push(error(`${pointer}${path}/$ref`, 'A reference may only point into the same schema (#/…)'));
    }
  });
  return findings;
}

/** Returns findings about secrets that cannot be masked and would therefore be in the audit log. */
function lintSecrets({ parameters, returns }: ToolDefinition): readonly LintFinding[] {
  const open = Object.entries({ parameters, returns }).filter(([, schema]) => hasUnmaskableSecrets(schema));
  return open.map(([name]) =>
    error(
      `/${name}`,
      'x-secret is followed through properties, additionalProperties, items, allOf, anyOf and oneOf only; mark the member around it',
    ),
  );
}

function lintPermissions(definition: ToolDefinition): readonly LintFinding[] {
  return permissionProblems(definition).map((problem) => error('/requires/permissions', problem));
}

function lintExamples(definition: ToolDefinition, validator: SchemaValidator): readonly LintFinding[] {
  return definition.metadata.examples.flatMap((example, index) => {
    const result = validator.check(definition.parameters, example.params);
    if (result.isValid) return [];
    const [problem] = result.problems;
    return [error(`/metadata/examples/${index}/params${problem?.pointer ?? ''}`, problem?.message ?? 'does not fit the parameters')];
  });
}

/** Returns mistakes in the declared side effects, determinism and timeout. Replays need the determinism, and deadlines need the timeout. */
function lintDeclared({ execution }: ToolDefinition): readonly LintFinding[] {
  const { hasSideEffects, determinism, timeoutMs } = execution;
  const findings: LintFinding[] = [];
  if (typeof hasSideEffects !== 'boolean') findings.push(error('/execution/side_effects', 'A tool has to say whether it has side effects'));
  if (!DETERMINISMS.includes(determinism)) findings.push(error('/execution/determinism', `has to be one of ${DETERMINISMS.join(', ')}`));
  if (!(timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS)) {
    findings.push(error('/execution/timeout_ms', `A tool needs a time limit of at most ${MAX_TIMEOUT_MS} ms`));
  }
  if (hasSideEffects && determinism === 'deterministic') {
    findings.push(
      error('/execution/determinism', 'A tool that acts is not deterministic: its answer depends on the world that it changes'),
    );
  }
  return findings;
}

function lintBounds({ execution }: ToolDefinition, isolation: RegisteredTool['isolation']): readonly LintFinding[] {
  const findings: LintFinding[] = [];
  if ((execution.maxParamsBytes ?? 0) > LARGE_PARAMS_LIMITS.maxSize) {
    findings.push(error('/execution/max_params_bytes', `Parameters have at most ${LARGE_PARAMS_LIMITS.maxSize} bytes`));
  }
  if (execution.maxMemoryBytes !== undefined && isolation === undefined) {
    findings.push(error('/execution/max_memory_bytes', 'Memory can be bounded only for a tool that runs in a process of its own'));
  }
  if (execution.maxFuel !== undefined && isolation !== 'script') {
    findings.push(
      error('/execution/max_fuel', 'Fuel counts the steps of a script; only a tool with source: js: or wasm: can be bounded by it'),
    );
  }
  return findings;
}

function error(pointer: string, message: string): LintFinding {
  return { severity: 'error', pointer, message };
}

function warning(pointer: string, message: string): LintFinding {
  return { severity: 'warning', pointer, message };
}

/** Parameters with the id of a device or sensor. The required permission must have a placeholder for the parameter. */
const DEVICE_PARAMETERS = ['device_id', 'sensor_id', 'camera_id'] as const;
/** Parameters with another resource's id. Each needs a placeholder, unless a required permission is administrative or names a resource. */
const RESOURCE_PARAMETERS = ['agent_id', 'database', 'collection', 'path', 'key'] as const;
/** Matches permissions that only the owner has by default. They cannot be narrowed to a resource. */
const ADMINISTRATIVE = /^admin:[a-z][a-z0-9_-]*$/;

/** Returns the mistakes in the required permissions, such as a malformed permission or a template that no parameter fills. */
export function permissionProblems(definition: ToolDefinition): readonly string[] {
  const { permissions } = definition.requires;
  const names = Object.keys(isSchemaObject(definition.parameters.properties) ? definition.parameters.properties : {});
  const malformed = permissions.flatMap((permission) => requirementProblem(permission, names) ?? []);
  return [...malformed, ...missingPermission(definition), ...unscopedParameters(permissions, names)];
}

const NO_PERMISSION_FOR_ACTING =
  'A tool with side effects has to require a permission: name one (requires.permissions), or say that it only reads (execution.side_effects: false)';

function missingPermission({ requires, execution, metadata }: ToolDefinition): readonly string[] {
  if (requires.permissions.length > 0) return [];
  if (metadata.isDangerous) return ['A dangerous tool has to require a permission'];
  return execution.hasSideEffects ? [NO_PERMISSION_FOR_ACTING] : [];
}

function unscopedParameters(permissions: readonly string[], names: readonly string[]): readonly string[] {
  const filledFrom = permissions.flatMap(placeholdersOf);
  const isNarrow = permissions.some((permission) => ADMINISTRATIVE.test(permission) || parsePermission(permission)?.resource !== undefined);
  return [...DEVICE_PARAMETERS, ...(isNarrow ? [] : RESOURCE_PARAMETERS)]
    .filter((name) => names.includes(name) && !filledFrom.includes(name))
    .map((name) => `A tool on one ${name} has to require a permission with {${name}} in it`);
}

function requirementProblem(permission: string, names: readonly string[]): string | undefined {
  const shown = JSON.stringify(permission.slice(0, 80));
  if (permission.includes('*')) return `${shown} holds a wildcard: grants may, what a tool requires names one thing`;
  if (!isTemplate(permission)) return parsePermission(permission) ? undefined : `${shown} is not of the form namespace:action[:resource]`;
  const unknown = placeholdersOf(permission).find((name) => !names.includes(name));
  if (unknown !== undefined) return `${shown} is filled from ${unknown}, which is no parameter of the tool`;
  if (!hasWholeSegments(permission)) return `${shown}: a placeholder has to be a whole part of the resource, such as config/{key}`;
  return parsePermission(permission.replaceAll(/\{\w+\}/g, 'x')) ? undefined : `${shown} can never be a valid permission`;
}

/** Returns whether each placeholder is a whole segment. In `{a}{b}` or `x-{a}`, a value could change the meaning of the text beside it. */
function hasWholeSegments(template: string): boolean {
  const [namespace = '', action = '', ...resource] = template.split(':');
  if (isTemplate(namespace) || isTemplate(action)) return false;
  return resource
    .join(':')
    .split('/')
    .every((segment) => !/[{}]/.test(segment) || /^\{[A-Za-z_]\w*\}$/.test(segment));
}
