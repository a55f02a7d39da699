import { includesGrant, requireGrant } from '../../core/auth/permission.ts';
import { type Principal, rootAgentOf } from '../../core/auth/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import { isWrittenVisibly } from '../../core/untrusted-text.ts';
import type { RegisteredTool, ToolDefinition } from '../../tools/definition/tool-definition.ts';
import { toolId, toolKey } from '../../tools/definition/tool-names.ts';
import { isTemplate } from '../../tools/definition/tool-permissions.ts';
import { requireBoundedSchema } from '../../tools/schema/schema-walk.ts';
import type { ToolRecord } from './tool-record.ts';

/** Namespace of the tools that agents make. */
export const AGENT_NAMESPACE = 'agent';
/** Default namespace of the tools that the owner registers. */
export const OWN_NAMESPACE = 'custom';

const MAX_PER_AGENT = 32;
const MAX_OF_AGENTS = 256;
const MAX_OF_OWNER = 256;
const MAX_DESCRIPTION = 2_000;
const MAX_TITLE = 120;
/** Maximum length of a definition, in characters of JSON text. Everyone who lists tools, such as a model, has to read all of it. */
const MAX_DEFINITION = 16_384;
/** Namespaces of the hub's own tools. */
const RESERVED: ReadonlySet<string> = new Set(['core', 'hub', 'matter', 'agentos', 'mesh', 'command', 'scene']);

/** Matches joiner and non-joiner. People may write them. In an agent's tool, they could make two different titles look equal. */
const JOINER = /[\u200c\u200d]/;

/** Derives a tool's origin from its maker. A claim in the record is ignored, because the record's author can write anything there. */
export function originOf({ kind }: Principal): { readonly createdBy: 'system' | 'agent'; readonly namespace: string } {
  return kind === 'owner' ? { createdBy: 'system', namespace: OWN_NAMESPACE } : { createdBy: 'agent', namespace: AGENT_NAMESPACE };
}

/**
 * Throws VALIDATION_ERROR in four cases: the maker may not use the namespace; an agent's tool names a device or an area; the title or the
 * description is too long; a text contains characters that can hide something from people, or (for an agent's tool) joiners.
 */
export function requireAllowedName(definition: ToolDefinition): void {
  const { namespace, description, metadata } = definition;
  const isOfAgent = metadata.createdBy === 'agent';
  if (isOfAgent ? namespace !== AGENT_NAMESPACE : RESERVED.has(namespace) || namespace === AGENT_NAMESPACE) {
    const wanted = isOfAgent ? `${AGENT_NAMESPACE}:` : `${OWN_NAMESPACE}: or another one of your own`;
    throw new AtmoError('VALIDATION_ERROR', `The namespace ${namespace} is not for this tool; use ${wanted}`, { pointer: '/namespace' });
  }
  if (isOfAgent && (metadata.device ?? metadata.area) !== undefined) {
    throw new AtmoError('VALIDATION_ERROR', 'Only tools of the hub belong to a device or an area; leave out both', {
      pointer: '/metadata',
    });
  }
  const isShown = (text: string) => isWrittenVisibly(text) && !(isOfAgent && JOINER.test(text));
  for (const [name, text, limit] of [
    ['title', metadata.title, MAX_TITLE],
    ['description', description, MAX_DESCRIPTION],
  ] as const) {
    if (text.length > limit) throw wrongText(name, `may have at most ${limit} characters`);
    if (!isShown(text)) throw wrongText(name, 'holds characters that nobody sees');
  }
  if (textsIn({ ...definition }).some((text) => !isShown(text))) throw wrongText('definition', 'holds characters that nobody sees');
}

/** Returns all strings in a value, including the keys of objects. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => [name, ...textsIn(item)]);
}

/** Throws VALIDATION_ERROR if the definition of an agent's tool is too long, or if its schema could be expensive to check. */
export function requireBoundedDefinition({ metadata, parameters, returns, ...rest }: ToolDefinition): void {
  if (metadata.createdBy !== 'agent') return;
  requireBoundedSchema(parameters);
  requireBoundedSchema(returns);
  const length = JSON.stringify([metadata, parameters, returns, rest]).length;
  if (length > MAX_DEFINITION) throw wrongText('definition', `is ${length} characters long, and may have at most ${MAX_DEFINITION}`);
}

/** Throws PERMISSION_DENIED if an agent's step would act with all rights of whoever calls the agent's tool, even rights the agent lacks. */
export function requireNoDelegation(tool: RegisteredTool, maker: Principal): void {
  const isDelegating = tool.definition.requires.permissions.some((permission) => /^(agent|tool):/.test(permission));
  if (maker.kind === 'owner' || !isDelegating) return;
  throw new AtmoError('PERMISSION_DENIED', `${toolKey(tool)} acts with all rights of its caller; only a tool of the owner can call it`);
}

/** Throws CONFLICT if the maker has reached its limit of registered tools, or all agents together have reached theirs. */
export function requireCapacity(records: Iterable<ToolRecord>, maker: Principal): void {
  const all = [...records];
  const isOfAgent = ({ definition }: ToolRecord) => definition.metadata.createdBy === 'agent';
  const family = rootAgentOf(maker.id);
  const [have, limit, whose] =
    maker.kind === 'owner'
      ? [all.filter((record) => !isOfAgent(record)).length, MAX_OF_OWNER, 'of the owner']
      : [all.filter((record) => isOfAgent(record) && rootAgentOf(record.maker) === family).length, MAX_PER_AGENT, `of ${family}`];
  if (have >= limit) throw capacityReached(`There are ${have} tools ${whose}, and there may be no more; remove one first`);
  if (maker.kind !== 'owner' && all.filter(isOfAgent).length >= MAX_OF_AGENTS)
    throw capacityReached(`Agents have registered ${MAX_OF_AGENTS} tools, and there may be no more; the owner can remove some`);
}

/** Throws PERMISSION_DENIED if a tool requires a permission that `allowed` does not include (ALLOWED_TOOL_PERMS). */
export function requireAllowed({ requires, ...name }: ToolDefinition, allowed: readonly string[]): void {
  const grants = allowed.map(requireGrant);
  const excess = requires.permissions.filter(
    (permission) => !grants.some((grant) => includesGrant(grant, requireGrant(widestPermission(permission)))),
  );
  if (excess.length === 0) return;
  throw new AtmoError(
    'PERMISSION_DENIED',
    `The tool ${toolId(name)} needs ${excess.join(', ')}, and registered tools may need only ${allowed.join(', ')} (ALLOWED_TOOL_PERMS)`,
    { required: excess },
  );
}

/** Returns the permission with `*` instead of placeholders: `device:control:*` for `device:control:{device_id}`. */
function widestPermission(permission: string): string {
  if (!isTemplate(permission)) return permission;
  return `${permission.split(':').slice(0, 2).join(':')}:*`;
}

function wrongText(name: string, problem: string): AtmoError {
  return new AtmoError('VALIDATION_ERROR', `The ${name} of the tool ${problem}`, { pointer: `/${name}` });
}

function capacityReached(message: string): AtmoError {
  return new AtmoError('CONFLICT', message, { reason: 'quota' });
}
