import semver from 'semver';
import { sha256Hex } from '../../codec/hashes.ts';
import { AtmoError } from '../../core/errors.ts';
import type { ToolId } from '../../core/ids.ts';
import type { RegisteredTool, ToolDefinition } from './tool-definition.ts';

const NAMESPACE = /^[a-z][a-z0-9-]{0,31}$/;
const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/;
const MAX_VERSION_LENGTH = 128;

/** The parts of a tool's name. */
export interface ToolReference {
  /** The namespace. Absent if the text has no namespace. */
  readonly namespace?: string;
  readonly name: string;
  /** A version (`1.2.0`) or a range (`^1.0.0`). */
  readonly version?: string;
}

/** Parses `[namespace:]name[@version]`. Returns undefined if the text has another form. Never throws. */
export function parseToolName(text: string): ToolReference | undefined {
  const [path, version] = splitOnce(text, text.indexOf('@'));
  const [before, after] = splitOnce(path, path.indexOf(':'));
  const name = after ?? before;
  if (!NAME.test(name)) return undefined;
  if (after !== undefined && !NAMESPACE.test(before)) return undefined;
  if (version !== undefined && !isVersionRange(version)) return undefined;
  return { ...(after !== undefined && { namespace: before }), name, ...(version !== undefined && { version }) };
}

/** Returns the text of a reference. `parseToolName` converts it back. */
export function formatToolName(reference: ToolReference): string {
  const namespace = reference.namespace === undefined ? '' : `${reference.namespace}:`;
  const version = reference.version === undefined ? '' : `@${reference.version}`;
  return `${namespace}${reference.name}${version}`;
}

/** Returns the canonical id `namespace:name@version`. Throws VALIDATION_ERROR if a part is malformed; the error names the part. */
export function toolId(parts: { readonly namespace: string; readonly name: string; readonly version: string }): ToolId {
  const { namespace, name, version } = parts;
  if (!NAMESPACE.test(namespace)) refuseForm(`Namespace ${JSON.stringify(namespace)} is not of the form ${NAMESPACE.source}`);
  if (!NAME.test(name)) refuseForm(`Tool name ${JSON.stringify(name)} is not of the form ${NAME.source}`);
  if (semver.valid(version) !== version) refuseForm(`Version ${JSON.stringify(version)} is not a semantic version such as 1.0.0`);
  return formatToolName(parts) as ToolId;
}

/** Returns `namespace:name` of a tool, which all of its versions share. */
export function toolKey({ definition: { namespace, name } }: { readonly definition: Pick<ToolDefinition, 'namespace' | 'name'> }): string {
  return `${namespace}:${name}`;
}

/** Returns all names by which a setting can name the tool, including the names that the tool had before. */
export function namesOf({ definition, aliases = [] }: Pick<RegisteredTool, 'definition' | 'aliases'>): readonly string[] {
  const { namespace, version, name: own } = definition;
  return [own, ...aliases].flatMap((name) => [formatToolName({ namespace, name, version }), `${namespace}:${name}`, name]);
}

/** Returns the canonical ids of the tool under each of its aliases, and of the tools whose rules hold for it as well. */
export function formerToolIds(tool: Pick<RegisteredTool, 'definition' | 'aliases' | 'ruledLike'>): readonly string[] {
  const { definition, aliases = [], ruledLike = [] } = tool;
  const { namespace, version } = definition;
  return [...aliases, ...ruledLike].map((name) => formatToolName({ namespace, name, version }));
}

/** Returns whether a text is a semantic version, or a range of versions such as `>=1.0.0 <2`. */
function isVersionRange(text: string): boolean {
  return text.length > 0 && text.length <= MAX_VERSION_LENGTH && semver.validRange(text) !== null;
}

/** Returns whether the tool's version is in all ranges. */
export function fitsAllRanges({ definition: { version } }: RegisteredTool, ranges: readonly string[]): boolean {
  return ranges.every((range) => semver.satisfies(version, range, { includePrerelease: semver.valid(range) !== null }));
}

function splitOnce(text: string, at: number): readonly [string, string | undefined] {
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function refuseForm(message: string): never {
  throw new AtmoError('VALIDATION_ERROR', message);
}

/** Maximum length of a tool name for models. Common clients add a prefix and would cut longer names. */
export const MODEL_NAME_LIMIT = 40;
const HASH_LENGTH = 6;

/**
 * Returns a name for models (`[a-z0-9_]`, at most 40 characters) for each tool `namespace:name`. The order of the tools does not matter. A
 * name that is too long gets a hash suffix. If several tools need the same name and only one is of `core`, that tool gets the name. If
 * none is of `core` and only one was not made by an agent, that tool gets the name. The other tools get a hash suffix.
 */
export function modelNames(tools: readonly string[]): ReadonlyMap<string, string> {
  const claims = new Map<string, string[]>();
  for (const tool of tools) {
    const plain = plainName(tool);
    claims.set(plain, [...(claims.get(plain) ?? []), tool]);
  }
  const names = new Map<string, string>();
  for (const [plain, claimants] of claims) {
    for (const tool of claimants) names.set(tool, keepsPlainName(tool, plain, claimants) ? plain : hashedName(tool, plain));
  }
  return names;
}

/** Returns the name for models that the tool gets if no other tool needs the same name. */
export function plainName(tool: string): string {
  const name = tool.slice(tool.indexOf(':') + 1);
  return name.toLowerCase().replace(/[^a-z0-9]+/g, '_');
}

function keepsPlainName(tool: string, plain: string, claimants: readonly string[]): boolean {
  if (plain.length > MODEL_NAME_LIMIT) return false;
  const isOnlyOneOfCore = tool.startsWith('core:') && claimants.filter((other) => other.startsWith('core:')).length === 1;
  const brought = claimants.filter((other) => !other.startsWith('agent:'));
  return claimants.length === 1 || isOnlyOneOfCore || (brought.length === 1 && brought[0] === tool);
}

function hashedName(tool: string, plain: string): string {
  return `${plain.slice(0, MODEL_NAME_LIMIT - HASH_LENGTH - 1)}_${sha256Hex(tool).slice(0, HASH_LENGTH)}`;
}
