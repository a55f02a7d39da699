import type { JsonSchema } from '../core/json.ts';
import type { SchemaValidator } from './schema-validator.ts';
import { isSchemaObject, pointerSegment, visitSchema } from './schema-walk.ts';
import type { ToolDefinition } from './tool-definition.ts';

/** One finding about a definition; errors stop its registration. */
export interface LintFinding {
  readonly severity: 'error' | 'warning';
  readonly pointer: string;
  readonly message: string;
}

const RESOURCE_PARAMETERS = ['device_id', 'sensor_id'] as const;
const SAYS_TYPE = ['type', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', '$ref'];

/**
 * What a definition does wrong as a whole: texts that a model needs, examples that its own schema refuses, permissions
 * that would let anybody act (design 7: a tool that acts requires something, for the resource that it names).
 */
export function lintDefinition(definition: ToolDefinition, validator: SchemaValidator): readonly LintFinding[] {
  return [
    ...lintDescription(definition),
    ...lintSchema(definition.parameters, '/parameters'),
    ...lintReferences(definition.returns, '/returns'),
    ...lintPermissions(definition),
    ...lintExamples(definition, validator),
    ...lintBounds(definition),
  ];
}

function lintDescription(definition: ToolDefinition): readonly LintFinding[] {
  if (definition.description.trim() !== '') return [];
  return [error('/description', 'A tool needs a description: people and models choose by it')];
}

function lintSchema(schema: JsonSchema, pointer: string): readonly LintFinding[] {
  if (schema.type !== 'object') return [error(`${pointer}/type`, 'The root type of parameters has to be "object"')];
  const properties = Object.entries(isSchemaObject(schema.properties) ? schema.properties : {});
  const silent = properties.flatMap(([name, property]) => lintProperty(property, `${pointer}/properties/${pointerSegment(name)}`));
  const required = Array.isArray(schema.required) ? schema.required : [];
  const absent = required.filter((name) => !properties.some(([known]) => known === name));
  return [
    ...silent,
    ...absent.map((name) => error(`${pointer}/required`, `Required parameter ${JSON.stringify(name)} is not among the properties`)),
    ...lintReferences(schema, pointer),
  ];
}

function lintProperty(property: unknown, pointer: string): readonly LintFinding[] {
  if (!isSchemaObject(property)) return [];
  const findings: LintFinding[] = [];
  const saysAnything = Object.keys(property).every((key) => key === 'description' || key === 'title' || key.startsWith('x-'));
  if (!SAYS_TYPE.some((key) => key in property) && !(saysAnything && 'description' in property)) {
    findings.push(warning(pointer, 'The parameter has no type'));
  }
  if (typeof property.description !== 'string' || property.description.trim() === '') {
    findings.push(warning(pointer, 'The parameter has no description'));
  }
  return findings;
}

/** Schemas are never fetched: only references into the same schema can work. */
function lintReferences(schema: JsonSchema, pointer: string): readonly LintFinding[] {
  const findings: LintFinding[] = [];
  visitSchema(schema, (child, path) => {
    if (typeof child.$ref === 'string' && !child.$ref.startsWith('#')) {
      findings.push(error(`${pointer}${path}/$ref`, 'A reference may only point into the same schema (#/…)'));
    }
  });
  return findings;
}

function lintPermissions(definition: ToolDefinition): readonly LintFinding[] {
  const { permissions } = definition.requires;
  if (!definition.execution.hasSideEffects) return [];
  if (permissions.length === 0) return [error('/requires/permissions', 'A tool with side effects has to require a permission')];
  const names = Object.keys(isSchemaObject(definition.parameters.properties) ? definition.parameters.properties : {});
  return RESOURCE_PARAMETERS.filter((name) => names.includes(name))
    .filter((name) => !permissions.some((permission) => permission.includes(`{${name}}`)))
    .map((name) => error('/requires/permissions', `A tool that acts on ${name} has to require a permission with {${name}} in it`));
}

function lintExamples(definition: ToolDefinition, validator: SchemaValidator): readonly LintFinding[] {
  return definition.metadata.examples.flatMap((example, index) => {
    const result = validator.check(definition.parameters, example.params);
    if (result.isValid) return [];
    const [problem] = result.problems;
    return [error(`/metadata/examples/${index}/params${problem?.pointer ?? ''}`, problem?.message ?? 'does not fit the parameters')];
  });
}

function lintBounds(definition: ToolDefinition): readonly LintFinding[] {
  if (definition.execution.maxFuel === undefined) return [];
  return [error('/execution/max_fuel', 'Fuel counts WebAssembly steps; this hub runs no WebAssembly tools and could not keep the bound')];
}

function error(pointer: string, message: string): LintFinding {
  return { severity: 'error', pointer, message };
}

function warning(pointer: string, message: string): LintFinding {
  return { severity: 'warning', pointer, message };
}
