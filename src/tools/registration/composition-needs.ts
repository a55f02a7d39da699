import type { Authorizer } from '../../core/access/authorizer.ts';
import { parsePermission } from '../../core/access/permission.ts';
import type { Principal } from '../../core/access/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/json.ts';
import { effectsOf, filledPermissions, isTemplate, placeholdersOf, replacePlaceholders } from '../definition/permission-template.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { parseToolName, toolKey } from '../definition/tool-name.ts';
import type { SchemaValidator } from '../schema/schema-validator.ts';
import { isSchemaObject, visitSchema } from '../schema/schema-walk.ts';
import { hasReferences, parameterOf, parametersIn } from '../steps/step-reference.ts';
import type { Step } from '../steps/step-runner.ts';
import { callerView, judgeOf } from '../visibility.ts';

interface NeedsCollaborators {
  readonly authorizer: Authorizer;
  readonly validator: SchemaValidator;
}

interface StepJudge extends NeedsCollaborators {
  readonly maker: Principal;
  /** Of the tool that the step is a part of. */
  readonly parameters: JsonSchema;
}

/** A step as it is kept, and what whoever calls the whole has to hold for it. */
export interface JudgedStep {
  readonly step: Step;
  readonly permissions: readonly string[];
}

/**
 * What one step needs. Its maker has to hold all of that too: nobody may put into a tool, for others to call, what it could
 * not call itself. PERMISSION_DENIED; VALIDATION_ERROR for parameters that the step's tool does not take.
 */
export function judgeStep(step: Step, tool: RegisteredTool, by: StepJudge): JudgedStep {
  const { maker } = by;
  const authorizer = judgeOf(tool, by.authorizer);
  const isOpen = hasReferences(step.params) || parametersIn(step.params).length > 0;
  const judged = isOpen ? openStep(step, tool) : fixedStep(step, tool, by);
  const chosen = judged.permissions.flatMap((permission) => chosenByMaker(permission, by.parameters));
  const lacking = [...judged.permissions, ...chosen].filter((permission) => {
    if (isTemplate(permission)) return !authorizer.mayTry(maker, permission);
    return !authorizer.authorize(maker, [permission]).allowed;
  });
  if (lacking.length === 0) return judged;
  throw new AtmoError('PERMISSION_DENIED', `${maker.id} lacks ${lacking.join(', ')}, which the step ${step.tool} needs`, {
    required: lacking,
  });
}

/** Everything about it is known: its parameters are kept in their canonical form, so that a new name of a device changes nothing. */
function fixedStep({ tool: name, params }: Step, tool: RegisteredTool, { maker, authorizer, validator }: StepJudge): JudgedStep {
  const valid = validator.parameters(tool.definition.parameters, params);
  const canonical = tool.canonicalize?.(valid, callerView(maker, authorizer)) ?? valid;
  const own = filledPermissions(tool.definition.requires.permissions, canonical);
  const effects = tool.hubs ? [] : effectsOf(tool, canonical).map(({ permission }) => permission);
  return { step: { tool: keptName(name, tool), params: canonical }, permissions: [...new Set([...own, ...effects])] };
}

function openStep({ tool: name, params }: Step, tool: RegisteredTool): JudgedStep {
  const permissions = tool.definition.requires.permissions.map((permission) => openPermission(permission, params));
  return { step: { tool: keptName(name, tool), params }, permissions };
}

/** What a parameter is when its caller leaves it out, or has to choose from, the maker has named: as much as if it stood in the step. */
function chosenByMaker(permission: string, parameters: JsonSchema): readonly string[] {
  return placeholdersOf(permission).flatMap((name) =>
    valuesNamed(parameters, name).map((value) => permission.replaceAll(`{${name}}`, value)),
  );
}

/** Wherever in the schema the member is described: defaults count behind `allOf` and `$ref` too. */
function valuesNamed(parameters: JsonSchema, name: string): readonly string[] {
  const values: unknown[] = [];
  visitSchema(parameters, ({ properties }) => {
    const schema = isSchemaObject(properties) ? properties[name] : undefined;
    if (isSchemaObject(schema)) values.push(schema.default, schema.const, ...(Array.isArray(schema.enum) ? schema.enum : []));
  });
  return values.filter((value) => typeof value === 'string');
}

/** A device that only a result will name can be any: then the permission is the one for all of them. */
function openPermission(permission: string, params: JsonObject): string {
  if (!isTemplate(permission)) return permission;
  const places = new Map(placeholdersOf(permission).map((name) => [name, placeOf(params[name])]));
  if ([...places.values()].includes(undefined)) return permission.split(':').slice(0, 2).join(':');
  const filled = replacePlaceholders(permission, (name) => places.get(name) ?? '');
  if (isTemplate(filled) || parsePermission(filled)) return filled;
  throw new AtmoError('VALIDATION_ERROR', `A step that takes references has to name what it is about by id: ${filled} names no one thing`);
}

function placeOf(value: Json | undefined): string | undefined {
  if (typeof value === 'string') return value;
  const name = parameterOf(value);
  return name === undefined ? undefined : `{${name}}`;
}

/** Without a version unless one was asked for: a step goes on working when its tool gets a new one. */
function keptName(written: string, tool: RegisteredTool): string {
  const version = parseToolName(written)?.version;
  return version === undefined ? toolKey(tool) : `${toolKey(tool)}@${version}`;
}
