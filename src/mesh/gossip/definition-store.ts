import { canonicalJson } from '../../codec/canonical-json.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import { oncePerObject } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { isWrittenVisibly, visibleLine, visibleText } from '../../core/untrusted-text.ts';
import { lintDefinition } from '../../tools/definition/definition-lint.ts';
import { normalizeDefinition, toPublicDefinition } from '../../tools/definition/public-definition.ts';
import type { RegisteredTool, ToolDefinition } from '../../tools/definition/tool-definition.ts';
import { parseToolName, toolId } from '../../tools/definition/tool-names.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import { boundedSchema } from '../../tools/schema/schema-walk.ts';
import { type Blob, type BlobStore, blobOf, shortName } from './blob-store.ts';
import type { DropCounter } from './gossip-limits.ts';

interface DefinitionStoreCollaborators {
  readonly blobs: BlobStore;
  readonly validator: SchemaValidator;
  readonly drops: DropCounter;
  readonly logger: Logger;
  /** If set, the limits of `TURN` apply, and each turn that `soon` requested begins with a call of `onNext`. If absent, no limits apply. */
  readonly turns?: { readonly clock: Clock; readonly onNext: () => void };
}

/**
 * Limits of a turn: bytes that are read for one hub, bytes that are read for all hubs, and milliseconds until the next turn. A turn takes
 * about 20 ms, or longer on a small board. The hub handles calls between turns.
 */
const TURN = { bytesOfHub: 32_768, bytes: 65_536, ms: 20 };
/** Read budget of each hub: its size and its refill rate. If a hub sends changes without pause, only its own definitions are delayed. */
const BUDGET = { bytes: 4 * 1_048_576, bytesPerMs: 655 };

/** The ids of definitions. Each change of a hub's announcement asks for those of all its tools. */
const idOf = oncePerObject((definition: ToolDefinition) => toolId(definition));

/** Stores the definitions of other hubs by hash. Reads each definition only once, even if several hubs announce it. */
export class DefinitionStore {
  readonly #parts: DefinitionStoreCollaborators;
  /** For each hash, the definition that was read, or undefined if the definition was rejected. */
  readonly #read = new Map<string, OfferedTool | undefined>();
  /** For each hub, the number of bytes that were read in this turn. */
  readonly #spent = new Map<HubId, number>();
  readonly #budgets = new Map<HubId, { readonly bytes: number; readonly atMs: number }>();
  #spentByAll = 0;
  /** The set with which nothing is left to delete; undefined after another definition was read. */
  #retained: ReadonlySet<string> | undefined;
  #cancelTurn: (() => void) | undefined;
  #hasWaiting = false;

  constructor(parts: DefinitionStoreCollaborators) {
    this.#parts = parts;
  }

  /**
   * Returns the definition of the tool `id` with this hash (hex). Reading the definition counts towards the limits of `hub`. Returns
   * undefined if the definition has not arrived, waits for its turn, was rejected or belongs to another tool.
   */
  get(hash: string, id: string, hub: HubId): OfferedTool | undefined {
    const tool = this.#offered(hash, hub);
    return tool && idOf(tool.definition) === id ? tool : undefined;
  }

  /** Returns true if a definition was read, even if it was then rejected. */
  isRead(hash: string): boolean {
    return this.#read.has(hash);
  }

  /** Returns whether the bytes of a definition have arrived, so that it can be read. */
  isHere(hash: string): boolean {
    return this.#parts.blobs.has(hash);
  }

  /** Makes the next turn call `onNext`. */
  soon(): void {
    this.#hasWaiting = true;
    this.#scheduleTurn();
  }

  /** Deletes definitions whose hash is not in `used`, which never changes: it is another set after a change. */
  retain(used: ReadonlySet<string>): void {
    if (used !== this.#retained) for (const hash of this.#read.keys()) if (!used.has(hash)) this.#read.delete(hash);
    this.#retained = used;
    for (const hub of this.#budgets.keys()) if (this.#budgetOf(hub) === BUDGET.bytes) this.#budgets.delete(hub);
  }

  stop(): void {
    this.#cancelTurn?.();
    this.#cancelTurn = undefined;
  }

  #offered(hash: string, hub: HubId): OfferedTool | undefined {
    if (this.#read.has(hash)) return this.#read.get(hash);
    const bytes = this.#parts.blobs.get(hash);
    if (!bytes || !this.#canRead(hub, bytes.length)) return undefined;
    const tool = this.#readOnce(hash, bytes);
    this.#read.set(hash, tool);
    this.#retained = undefined;
    return tool;
  }

  #canRead(hub: HubId, bytes: number): boolean {
    const { turns } = this.#parts;
    if (!turns) return true;
    const spent = this.#spent.get(hub) ?? 0;
    const budget = this.#budgetOf(hub);
    // The first definition of a turn is read even if it exceeds a limit on its own, so that each turn makes progress.
    const isOver = (before: number, most: number) => before > 0 && before + bytes > most;
    if (budget <= 0 || isOver(spent, TURN.bytesOfHub) || isOver(this.#spentByAll, TURN.bytes)) {
      this.soon();
      return false;
    }
    this.#scheduleTurn();
    this.#spent.set(hub, spent + bytes);
    this.#spentByAll += bytes;
    this.#budgets.set(hub, { bytes: budget - bytes, atMs: turns.clock.monotonic() });
    return true;
  }

  #budgetOf(hub: HubId): number {
    const { bytes, atMs } = this.#budgets.get(hub) ?? { bytes: BUDGET.bytes, atMs: 0 };
    const nowMs = this.#parts.turns?.clock.monotonic() ?? 0;
    return Math.min(BUDGET.bytes, bytes + (nowMs - atMs) * BUDGET.bytesPerMs);
  }

  #scheduleTurn(): void {
    this.#cancelTurn ??= this.#parts.turns?.clock.after(TURN.ms, () => this.#nextTurn());
  }

  #nextTurn(): void {
    const hasWaiting = this.#hasWaiting;
    this.#cancelTurn = undefined;
    this.#hasWaiting = false;
    this.#spent.clear();
    this.#spentByAll = 0;
    if (hasWaiting) this.#parts.turns?.onNext();
  }

  #readOnce(hash: string, bytes: Uint8Array): OfferedTool | undefined {
    const { validator, drops, logger } = this.#parts;
    try {
      return readRemoteDefinition(bytes, validator);
    } catch (error) {
      drops.count('bad_definition');
      logger.warn('mesh.definition_refused', { hash, problem: toAtmoError(error).message });
      return undefined;
    }
  }
}

/** Maximum lengths of texts that only people and models read. Cutting and cleaning these texts does not change what the tool does. */
const PROSE_LIMITS: Readonly<Record<string, number>> = { description: 2_000, $comment: 200 };
const LINE_LIMITS: Readonly<Record<string, number>> = { title: 200, author: 100, area: 64 };
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses another hub's definition and checks it like a local definition. Also returns the aliases of a device's tool. Limits the schemas so
 * that validation ends in time. Shortens texts for people and models, and removes hidden characters from them. Throws PAYLOAD_TOO_LARGE if
 * the definition is too large or nested too deeply, and VALIDATION_ERROR if it is invalid in another way.
 */
export function readRemoteDefinition(bytes: Uint8Array, validator: SchemaValidator): OfferedTool {
  const { definition: offered, aliases } = withoutAliases(normalizeDefinition(cleaned(parse(bytes), '')));
  const definition = { ...offered, parameters: boundedSchema(offered.parameters), returns: boundedSchema(offered.returns) };
  const { maxMemoryBytes, maxFuel } = definition.execution;
  // With `isolation`, the linter accepts limits of memory and fuel. The hub that runs the tool enforces these limits.
  const bounded = maxMemoryBytes === undefined ? undefined : 'process';
  const isolation = maxFuel === undefined ? bounded : 'script';
  // Examples are not checked, because matching a hostile example with a hostile pattern could occupy a processor for hours.
  const plain = { ...definition, metadata: { ...definition.metadata, examples: [] } };
  const problem = lintDefinition(plain, validator, isolation).find(({ severity }) => severity === 'error');
  if (problem) throw new AtmoError('VALIDATION_ERROR', `${problem.pointer} ${problem.message}`, { pointer: problem.pointer });
  return { definition: withDevicePermission(definition), ...(aliases.length > 0 && { aliases }) };
}

/** Namespace of the tools that act on devices of the announcing hub. */
const MATTER = 'matter';
/** Maximum number of aliases of a tool. If a tool has more, its oldest aliases are left out. */
const MAX_ALIASES = 64;
const STRICTEST = 'admin:device';

/** Separates the aliases of a tool from its tags. Only tools of devices have aliases, because no other tool is renamed. */
function withoutAliases(definition: ToolDefinition): Required<OfferedTool> {
  const { metadata } = definition;
  const isName = (tag: string) => tag.startsWith(ALIAS_TAG);
  const isBare = (name: string) => parseToolName(name)?.name === name;
  const names = metadata.tags.filter(isName).map((tag) => tag.slice(ALIAS_TAG.length));
  const aliases = metadata.device === undefined ? [] : names.filter(isBare).slice(0, MAX_ALIASES);
  return { definition: { ...definition, metadata: { ...metadata, tags: metadata.tags.filter((tag) => !isName(tag)) } }, aliases };
}

/** Makes a device's tool require `admin:device`, unless it already requires a permission for its device that covers the tool's effects. */
function withDevicePermission(definition: ToolDefinition): ToolDefinition {
  const { namespace, requires, metadata, execution } = definition;
  if (namespace !== MATTER) return definition;
  const device = metadata.device ?? '{device_id}';
  const actions = !execution.hasSideEffects && !metadata.isDangerous ? ['read', 'control'] : ['control'];
  const enough = [STRICTEST, `${STRICTEST}:${device}`, ...actions.map((action) => `device:${action}:${device}`)];
  // Tools such as commissioning administer a network, and belong to no device.
  const isAdministration = metadata.device === undefined && requires.permissions.some((permission) => permission.startsWith('admin:'));
  if (isAdministration || requires.permissions.some((permission) => enough.includes(permission))) return definition;
  // Without this permission, agents could see a tool that they may not use.
  return { ...definition, requires: { ...requires, permissions: [...requires.permissions, STRICTEST] } };
}

function parse(bytes: Uint8Array): Json {
  try {
    return JSON.parse(utf8.decode(bytes)) as Json;
  } catch (error) {
    throw new AtmoError('VALIDATION_ERROR', 'The definition is not JSON in UTF-8', {}, { cause: error });
  }
}

/** Returns the value with cleaned texts. `key` is the name of the property that has this value. */
function cleaned(value: Json, key: string): Json {
  if (typeof value === 'string') return cleanedText(value, key);
  if (Array.isArray(value)) return value.map((item: Json) => cleaned(item, key === 'tags' ? 'title' : ''));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [cleanedText(name, ''), cleaned(item, name)]));
}

function cleanedText(value: string, key: string): string {
  const line = LINE_LIMITS[key];
  if (line !== undefined) return visibleLine(value, line);
  const prose = PROSE_LIMITS[key];
  if (prose !== undefined) return visibleText(value, prose);
  // Each character of a name, choice or pattern has a meaning, so the text is accepted unchanged or refused.
  if (isWrittenVisibly(value)) return value;
  throw new AtmoError('VALIDATION_ERROR', 'A name or value of the definition has hidden characters');
}

/** Definition in the form that other hubs fetch. */
export interface OfferedDefinition {
  /** The definition's public form as canonical JSON (RFC 8785). */
  readonly blob: Blob;
  /** First 8 bytes, in hex, of the SHA-256 of the blob; announcements contain this hash. */
  readonly hash: string;
}

/** Parts of a tool that are offered to other hubs. */
export type OfferedTool = Pick<RegisteredTool, 'definition' | 'aliases'>;

/**
 * Prefix of the tags that carry the aliases of a device's tool, such as former names. Aliases are sent as tags, because a hub rejects a
 * definition with unknown fields. Software versions that do not know aliases read them as ordinary tags.
 */
const ALIAS_TAG = 'alias:';

const offeredDefinitions = new WeakMap<ToolDefinition, OfferedDefinition>();

/** Number of definitions that are encoded without a pause. This takes about 10 ms, and several times as long on a small board. */
const AT_A_TIME = 32;

/** Encodes up to `AT_A_TIME` more definitions; returns true if all definitions are encoded. */
export function prepareOffers(tools: Iterable<OfferedTool>): boolean {
  let left = AT_A_TIME;
  for (const tool of tools) {
    if (offeredDefinitions.has(tool.definition)) continue;
    if (left === 0) return false;
    left -= 1;
    offeredDefinition(tool);
  }
  return true;
}

/** Returns the encoded definition of a tool; each definition is encoded only once. */
export function offeredDefinition({ definition, aliases = [] }: OfferedTool): OfferedDefinition {
  const known = offeredDefinitions.get(definition);
  if (known) return known;
  const { metadata } = definition;
  const names = metadata.device === undefined ? [] : aliases.map((alias) => `${ALIAS_TAG}${alias}`);
  const named = { ...definition, metadata: { ...metadata, tags: [...metadata.tags, ...names] } };
  const blob = blobOf(new TextEncoder().encode(canonicalJson(toPublicDefinition(named))));
  const encoded = { blob, hash: shortName(blob.sha256) };
  offeredDefinitions.set(definition, encoded);
  return encoded;
}
