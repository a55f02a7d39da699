import semver from 'semver';
import { AtmoError } from '../../core/errors.ts';
import type { ToolId } from '../../core/ids.ts';
import type { RegisteredTool, ToolDefinition } from './tool-definition.ts';

const NAMESPACE = /^[a-z][a-z0-9-]{0,31}$/;
const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/;
const MAX_VERSION_LENGTH = 128;

/** A tool name as people write it, taken apart (source 000 §1). */
export interface ToolReference {
  /** Absent for a bare name. */
  readonly namespace?: string;
  readonly name: string;
  /** A version (`1.2.0`) or a range (`^1.0.0`). */
  readonly version?: string;
}

/** Parses `[namespace:]name[@version]`; undefined for text of any other form. Never throws. */
export function parseToolName(text: string): ToolReference | undefined {
  const [path, version] = splitOnce(text, text.indexOf('@'));
  const [before, after] = splitOnce(path, path.indexOf(':'));
  const name = after ?? before;
  if (!NAME.test(name)) return undefined;
  if (after !== undefined && !NAMESPACE.test(before)) return undefined;
  if (version !== undefined && !isVersionRange(version)) return undefined;
  return { ...(after !== undefined && { namespace: before }), name, ...(version !== undefined && { version }) };
}

/** The text that `parseToolName` takes apart into the same reference. */
export function formatToolName(reference: ToolReference): string {
  const namespace = reference.namespace === undefined ? '' : `${reference.namespace}:`;
  const version = reference.version === undefined ? '' : `@${reference.version}`;
  return `${namespace}${reference.name}${version}`;
}

/** Canonical id `namespace:name@version`; VALIDATION_ERROR names the part that is not of the allowed form. */
export function toolId(parts: { readonly namespace: string; readonly name: string; readonly version: string }): ToolId {
  requireForm(NAMESPACE.test(parts.namespace), `Namespace ${JSON.stringify(parts.namespace)} is not of the form ${NAMESPACE.source}`);
  requireForm(NAME.test(parts.name), `Tool name ${JSON.stringify(parts.name)} is not of the form ${NAME.source}`);
  requireForm(
    semver.valid(parts.version) === parts.version,
    `Version ${JSON.stringify(parts.version)} is not a semantic version such as 1.0.0`,
  );
  return formatToolName(parts) as ToolId;
}

/** `namespace:name` of a tool, which all its versions have. */
export function toolKey({ definition: { namespace, name } }: { readonly definition: Pick<ToolDefinition, 'namespace' | 'name'> }): string {
  return `${namespace}:${name}`;
}

/**
 * Every way to write the name of a tool: canonical id, `namespace:name` and bare name, of its own name and of its aliases. What the
 * owner said of a tool by a name that it had before holds for it still.
 */
export function allNamesOf({ definition, aliases = [] }: Pick<RegisteredTool, 'definition' | 'aliases'>): readonly string[] {
  const { namespace, version, name: own } = definition;
  return [own, ...aliases].flatMap((name) => [formatToolName({ namespace, name, version }), `${namespace}:${name}`, name]);
}

/** Canonical ids that a tool with aliases had, or would have by them. */
export function formerIdsOf({ definition, aliases = [] }: Pick<RegisteredTool, 'definition' | 'aliases'>): readonly string[] {
  const { namespace, version } = definition;
  return aliases.map((name) => formatToolName({ namespace, name, version }));
}

/** True for a semantic version or a range of them, such as `>=1.0.0 <2`. */
export function isVersionRange(text: string): boolean {
  return text.length > 0 && text.length <= MAX_VERSION_LENGTH && semver.validRange(text) !== null;
}

function splitOnce(text: string, at: number): readonly [string, string | undefined] {
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function requireForm(isRight: boolean, message: string): void {
  if (!isRight) throw new AtmoError('VALIDATION_ERROR', message);
}
