import type { AttributeDescription, ClusterDescription, CommandDescription } from '../../core/devices/device-model.ts';
import { joinNames, readableName, readableWords, snakeCase } from '../../core/devices/matter-names.ts';
import type { JsonSchema } from '../../core/json.ts';
import { oncePerObject } from '../../core/lifecycle.ts';
import { orNullSchema, rawDescription, rawWithinReason, withDescriptions, withSecretsMarked } from '../values/human-schema.ts';
import type { CompiledValue } from './cluster-view.ts';
import { DEFAULT_TIMEOUT_MS, type DeviceStep, type ToolBlueprint } from './compiled-device.ts';
import { privilegeRisk } from './element-risk.ts';

/** A generic tool without its endpoint. Devices that share a cluster description object also share the templates made from it. */
type Template = Omit<ToolBlueprint, 'endpoint' | 'plan' | 'values'> & {
  readonly readable: readonly AttributeDescription[];
  plan(endpoint: number): ToolBlueprint['plan'];
};

const EMPTY: JsonSchema = { type: 'object', properties: {}, additionalProperties: false };

/**
 * Returns the tools of a cluster without a profile: one per command, one per writable attribute, and one that reads all attributes. Values
 * are in raw Matter units with the schema of the Matter model.
 */
export function genericTools(endpoint: number, cluster: ClusterDescription): readonly ToolBlueprint[] {
  return templatesOf(cluster).map(({ readable, plan, ...rest }) => ({
    ...rest,
    endpoint,
    plan: plan(endpoint),
    values: readable.map((attribute) => rawValue(endpoint, cluster.name, attribute)),
  }));
}

const templatesOf = oncePerObject((cluster: ClusterDescription): readonly Template[] => {
  const readable = cluster.attributes.filter((attribute) => attribute.readPrivilege !== 'administer');
  return [
    ...cluster.commands.map((command) => commandTool(cluster, command)),
    ...cluster.attributes.filter((attribute) => attribute.writable).map((attribute) => writeTool(cluster, attribute)),
    ...(readable.length > 0 ? [readTool(cluster, readable)] : []),
  ];
});

function commandTool(cluster: ClusterDescription, command: CommandDescription): Template {
  const parameters = rawWithinReason(withSecretsMarked(withDescriptions(command.parameters)));
  return {
    cluster: cluster.name,
    timeoutMs: DEFAULT_TIMEOUT_MS,
    ...actionOf(cluster, command.name),
    title: `${readableWords(cluster.name)}: ${readableWords(command.name)}`,
    description: `Sends the Matter command ${cluster.name}.${command.name} to {device}, values in raw Matter units.${sentence(command.description)}`,
    risk: privilegeRisk(command.privilege),
    isAdministrative: command.privilege === 'administer',
    kind: 'act',
    elements: [command.name],
    isIdempotent: false,
    parameters,
    ...(command.returns && { response: withSecretsMarked(command.returns) }),
    readable: [],
    plan: (endpoint) => (fields) => ({
      steps: [{ kind: 'invoke', endpoint, cluster: cluster.name, command: command.name, fields }],
      target: {},
    }),
  };
}

function writeTool(cluster: ClusterDescription, attribute: AttributeDescription): Template {
  const description = rawDescription(attribute.name, { ...attribute.schema, ...unitOf(attribute) });
  return {
    cluster: cluster.name,
    timeoutMs: DEFAULT_TIMEOUT_MS,
    ...actionOf(cluster, attribute.name, 'set'),
    title: `${readableWords(cluster.name)}: set ${readableWords(attribute.name)}`,
    description: `Writes the Matter attribute ${cluster.name}.${attribute.name} of {device}, in raw Matter units.`,
    risk: privilegeRisk(attribute.writePrivilege ?? 'operate'),
    isAdministrative: attribute.writePrivilege === 'administer',
    kind: 'act',
    elements: [attribute.name],
    isIdempotent: true,
    parameters: {
      type: 'object',
      properties: { value: { ...rawWithinReason({ ...attribute.schema, ...unitOf(attribute) }), description } },
      required: ['value'],
      additionalProperties: false,
    },
    readable: [attribute],
    plan: (endpoint) => (params) => ({
      steps: [{ kind: 'write', endpoint, cluster: cluster.name, attribute: attribute.name, value: params.value ?? null }],
      target: { [snakeCase(attribute.name)]: params.value ?? null },
    }),
  };
}

function readTool(cluster: ClusterDescription, readable: readonly AttributeDescription[]): Template {
  return {
    cluster: cluster.name,
    timeoutMs: DEFAULT_TIMEOUT_MS,
    ...actionOf(cluster, 'read'),
    title: `${readableWords(cluster.name)}: read`,
    description: `Reads all attributes of the Matter cluster ${cluster.name} from {device}, in raw Matter units.${sentence(cluster.description)}`,
    risk: 'none',
    isAdministrative: false,
    kind: 'read',
    elements: readable.map((attribute) => attribute.name),
    isIdempotent: true,
    parameters: EMPTY,
    readable,
    plan: (endpoint) => () => ({
      steps: readable.map(({ name }): DeviceStep => ({ kind: 'read', endpoint, cluster: cluster.name, attribute: name })),
      target: {},
    }),
  };
}

/** Builds the action from the names of the cluster and the element. Sets `formerAction` if the name was different in older versions. */
function actionOf({ name }: ClusterDescription, element: string, verb?: string): Pick<ToolBlueprint, 'action' | 'formerAction'> {
  const put = verb === undefined ? [] : [verb];
  const action = joinNames(readableName(name), [...put, readableName(element)].join('_'));
  const formerAction = [snakeCase(name), ...put, snakeCase(element)].join('_');
  return { action, ...(formerAction !== action && { formerAction }) };
}

function rawValue(endpoint: number, cluster: string, attribute: AttributeDescription): CompiledValue {
  return {
    name: snakeCase(attribute.name),
    title: attribute.name,
    unit: '',
    endpoint,
    cluster,
    attribute: attribute.name,
    hasToBeAsked: attribute.changesOmitted,
    schema: rawSchemaOf(attribute),
    toHuman: (raw) => raw,
    shows: (raw, wanted) => JSON.stringify(raw) === JSON.stringify(wanted),
  };
}

const rawSchemaOf = oncePerObject((attribute: AttributeDescription): JsonSchema => {
  const description = rawDescription(attribute.name, { ...attribute.schema, ...unitOf(attribute) });
  return { ...orNullSchema(attribute.schema), description };
});

function unitOf(attribute: AttributeDescription): JsonSchema {
  return { ...(attribute.unit !== undefined && { 'x-unit': attribute.unit, 'x-scale': attribute.scale ?? 1 }) };
}

/** Returns the first sentence of a description in the Matter model. */
function sentence(text: string | undefined): string {
  if (text === undefined || text === '') return '';
  const first = /^.{1,200}?[.!?](?=\s|$)/s.exec(text)?.[0] ?? `${text.slice(0, 160)}…`;
  return ` ${first.replace(/\s+/g, ' ')}`;
}
