import { canonicalJson } from '../../codec/canonical-json.ts';
import type { Clock } from '../../core/clock.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import type { Logger } from '../../core/logger.ts';
import { isWrittenVisibly, visibleLine, visibleText } from '../../core/untrusted-text.ts';
import { lintDefinition } from '../../tools/definition/definition-lint.ts';
import { normalizeDefinition, toPublicDefinition } from '../../tools/definition/public-definition.ts';
import type { RegisteredTool, ToolDefinition } from '../../tools/definition/tool-definition.ts';
import { parseToolName, toolId } from '../../tools/definition/tool-names.ts';
import { boundedSchema } from '../../tools/schema/bounded-schema.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import { type Blob, type BlobStore, blobOf, shortName } from './blob-store.ts';
import type { DropCounter } from './gossip-limits.ts';

interface DefinitionStoreCollaborators {
  readonly blobs: BlobStore;
  readonly validator: SchemaValidator;
  readonly drops: DropCounter;
  readonly logger: Logger;
  /** `onNext` is called when more may be read, after `soon` or after a definition had to wait; absent: all is read at once. */
  readonly turns?: { readonly clock: Clock; readonly onNext: () => void };
}

/**
 * What is read in one turn, of one hub and of all, and the time between turns. A turn takes a fiftieth of a second, a few times that
 * on a small board, and calls are answered between turns.
 */
const TURN = { bytesOfHub: 32_768, bytes: 65_536, ms: 20 };
/**
 * A hub is read without delay as far as its share of the store goes; after that, one that changes large definitions all the time
 * delays itself.
 */
const BUDGET = { bytes: 4 * 1_048_576, bytesPerMs: 655 };

interface Budget {
  readonly bytes: number;
  readonly atMs: number;
}

/** Definitions of other hubs by hash: read once, turn by turn, and shared by all hubs that announce the same. */
export class DefinitionStore {
  readonly #blobs: BlobStore;
  readonly #validator: SchemaValidator;
  readonly #drops: DropCounter;
  readonly #logger: Logger;
  /** Undefined stands for one that did not pass. */
  readonly #read = new Map<string, OfferedTool | undefined>();

  readonly #turns: DefinitionStoreCollaborators['turns'];
  /** Bytes that were read in this turn. */
  readonly #spent = new Map<HubId, number>();
  readonly #budgets = new Map<HubId, Budget>();
  #spentByAll = 0;
  #cancelTurn: (() => void) | undefined;
  #hasLeftSome = false;

  constructor({ blobs, validator, drops, logger, turns }: DefinitionStoreCollaborators) {
    this.#blobs = blobs;
    this.#validator = validator;
    this.#drops = drops;
    this.#logger = logger;
    this.#turns = turns;
  }

  /**
   * The definition of the tool `id` by its hash (hex), as `hub` announces it; undefined while it is not here or its turn has not
   * come, and when it does not pass or is another tool's.
   */
  get(hash: string, id: string, hub: HubId): OfferedTool | undefined {
    const tool = this.#offered(hash, hub);
    return tool && toolId(tool.definition) === id ? tool : undefined;
  }

  /** True once a definition was read, whether it passed or not. */
  isRead(hash: string): boolean {
    return this.#read.has(hash);
  }

  /** True for a definition that has arrived and can be read. */
  isHere(hash: string): boolean {
    return this.#blobs.has(hash);
  }

  /** Has `onNext` called in the next turn. */
  soon(): void {
    this.#hasLeftSome = true;
    this.#cancelTurn ??= this.#turns?.clock.after(TURN.ms, () => this.#nextTurn());
  }

  /** Forgets what is not `used` any more. */
  retain(used: ReadonlySet<string>): void {
    for (const hash of this.#read.keys()) if (!used.has(hash)) this.#read.delete(hash);
    for (const hub of this.#budgets.keys()) if (this.#budgetOf(hub) === BUDGET.bytes) this.#budgets.delete(hub);
  }

  stop(): void {
    this.#cancelTurn?.();
    this.#cancelTurn = undefined;
  }

  #offered(hash: string, hub: HubId): OfferedTool | undefined {
    if (this.#read.has(hash)) return this.#read.get(hash);
    const bytes = this.#blobs.get(hash);
    if (!bytes || !this.#mayRead(hub, bytes.length)) return undefined;
    const tool = this.#readOnce(hash, bytes);
    this.#read.set(hash, tool);
    return tool;
  }

  #mayRead(hub: HubId, bytes: number): boolean {
    if (!this.#turns) return true;
    const spent = this.#spent.get(hub) ?? 0;
    const budget = this.#budgetOf(hub);
    // The first of a turn is read however long it is.
    const isOver = (before: number, most: number) => before > 0 && before + bytes > most;
    if (budget <= 0 || isOver(spent, TURN.bytesOfHub) || isOver(this.#spentByAll, TURN.bytes)) {
      this.soon();
      return false;
    }
    this.#cancelTurn ??= this.#turns.clock.after(TURN.ms, () => this.#nextTurn());
    this.#spent.set(hub, spent + bytes);
    this.#spentByAll += bytes;
    this.#budgets.set(hub, { bytes: budget - bytes, atMs: this.#turns.clock.monotonic() });
    return true;
  }

  #budgetOf(hub: HubId): number {
    const { bytes, atMs } = this.#budgets.get(hub) ?? { bytes: BUDGET.bytes, atMs: 0 };
    const nowMs = this.#turns?.clock.monotonic() ?? 0;
    return Math.min(BUDGET.bytes, bytes + (nowMs - atMs) * BUDGET.bytesPerMs);
  }

  #nextTurn(): void {
    const hasLeftSome = this.#hasLeftSome;
    this.#cancelTurn = undefined;
    this.#hasLeftSome = false;
    this.#spent.clear();
    this.#spentByAll = 0;
    if (hasLeftSome) this.#turns?.onNext();
  }

  #readOnce(hash: string, bytes: Uint8Array): OfferedTool | undefined {
    try {
      return readRemoteDefinition(bytes, this.#validator);
    } catch (error) {
      this.#drops.count('bad_definition');
      this.#logger.warn('mesh.bad_definition', { hash, problem: toAtmoError(error).message });
      return undefined;
    }
  }
}

/** Members that are read by people and models only: they may be cut and cleaned without a change of meaning. */
const PROSE_LIMITS: Readonly<Record<string, number>> = { description: 2_000, $comment: 200 };
const LINE_LIMITS: Readonly<Record<string, number>> = { title: 200, author: 100, area: 64 };
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The definition that another hub offers, as JSON text of its public form. It passes what every definition
 * of this hub passes, its schemas end every check soon, and its prose is cleaned of hidden characters and bounded: it will stand before people and models.
 * The tool of a device comes with its other names. VALIDATION_ERROR or PAYLOAD_TOO_LARGE says why there is none.
 */
export function readRemoteDefinition(bytes: Uint8Array, validator: SchemaValidator): OfferedTool {
  const { definition: told, aliases } = withoutAliases(normalizeDefinition(cleaned(parse(bytes), '')));
  const definition = { ...told, parameters: boundedSchema(told.parameters), returns: boundedSchema(told.returns) };
  const { maxMemoryBytes, maxFuel } = definition.execution;
  // What it says that it keeps to is kept there: scripts count their steps, processes their memory.
  const bounded = maxMemoryBytes === undefined ? undefined : 'process';
  const isolation = maxFuel === undefined ? bounded : 'script';
  // Examples stay unchecked: a pattern and an example of one maker can keep a processor busy for hours.
  const plain = { ...definition, metadata: { ...definition.metadata, examples: [] } };
  const problem = lintDefinition(plain, validator, isolation).find(({ severity }) => severity === 'error');
  if (problem) throw new AtmoError('VALIDATION_ERROR', `${problem.pointer} ${problem.message}`, { pointer: problem.pointer });
  return { definition: withDevicePermission(definition), ...(aliases.length > 0 && { aliases }) };
}

/** Tools of this namespace act on devices of the hub that announces them. */
const MATTER = 'matter';
/** Other names of one tool; those beyond are the oldest. */
const MAX_ALIASES = 64;
const STRICTEST = 'admin:device';

/** Takes the other names out of the tags; only those of a device's tool count, since nothing else is renamed. */
function withoutAliases(definition: ToolDefinition): Required<OfferedTool> {
  const { metadata } = definition;
  const isName = (tag: string) => tag.startsWith(ALIAS_TAG);
  const isBare = (name: string) => parseToolName(name)?.name === name;
  const names = metadata.tags.filter(isName).map((tag) => tag.slice(ALIAS_TAG.length));
  const aliases = metadata.device === undefined ? [] : names.filter(isBare).slice(0, MAX_ALIASES);
  return { definition: { ...definition, metadata: { ...metadata, tags: metadata.tags.filter((tag) => !isName(tag)) } }, aliases };
}

/**
 * Who may see and call a device's tool is decided by its device: permissions that leave the device out, or ask for less than the
 * tool's effects need, would widen what an agent sees. Such a tool is the administrators' alone.
 */
function withDevicePermission(definition: ToolDefinition): ToolDefinition {
  const { namespace, requires, metadata } = definition;
  if (namespace !== MATTER) return definition;
  const about = metadata.device ?? '{device_id}';
  const actions = isReadOnly(definition) ? ['read', 'control'] : ['control'];
  const enough = [STRICTEST, `${STRICTEST}:${about}`, ...actions.map((action) => `device:${action}:${about}`)];
  // The hub's own tools of a network, such as that which commissions, are administration and belong to no device yet.
  const isAdministration = metadata.device === undefined && requires.permissions.some((permission) => permission.startsWith('admin:'));
  if (isAdministration || requires.permissions.some((permission) => enough.includes(permission))) return definition;
  return { ...definition, requires: { ...requires, permissions: [...requires.permissions, STRICTEST] } };
}

function isReadOnly({ execution, metadata }: ToolDefinition): boolean {
  return !execution.hasSideEffects && !metadata.isDangerous;
}

function parse(bytes: Uint8Array): Json {
  try {
    return JSON.parse(utf8.decode(bytes)) as Json;
  } catch (error) {
    throw new AtmoError('VALIDATION_ERROR', 'The definition is not JSON in UTF-8', {}, { cause: error });
  }
}

/** `key` is the member that holds the value. */
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
  // A name, choice or pattern means what it says byte for byte: it is whole or it is not taken.
  if (isWrittenVisibly(value)) return value;
  throw new AtmoError('VALIDATION_ERROR', 'A name or value of the definition has hidden characters');
}

/** A definition as other hubs fetch it. */
export interface OfferedDefinition {
  /** RFC 8785 JSON of the public form. */
  readonly blob: Blob;
  /** First 8 bytes of its SHA-256, hex: the name that is announced. */
  readonly hash: string;
}

/** A tool as far as it is offered. */
export type OfferedTool = Pick<RegisteredTool, 'definition' | 'aliases'>;

/**
 * Beginning of the tags by which the tool of a device tells its other names, those that it had before among them. A definition has
 * one form, and whatever is not described is refused; the first hubs take these for tags like others.
 */
const ALIAS_TAG = 'alias:';

const offered = new WeakMap<ToolDefinition, OfferedDefinition>();

/** So many are made at a time, a hundredth of a second of work and a few times that on a small board. */
const AT_A_TIME = 32;

/** Makes some more of what is not made yet; true when all is. */
export function prepareOffers(tools: Iterable<OfferedTool>): boolean {
  let left = AT_A_TIME;
  for (const tool of tools) {
    if (offered.has(tool.definition)) continue;
    if (left === 0) return false;
    left -= 1;
    offeredDefinition(tool);
  }
  return true;
}

/** A definition as the other hubs get it; made once. */
export function offeredDefinition({ definition, aliases = [] }: OfferedTool): OfferedDefinition {
  const known = offered.get(definition);
  if (known) return known;
  const { metadata } = definition;
  const names = metadata.device === undefined ? [] : aliases.map((alias) => `${ALIAS_TAG}${alias}`);
  const told = { ...definition, metadata: { ...metadata, tags: [...metadata.tags, ...names] } };
  const blob = blobOf(new TextEncoder().encode(canonicalJson(toPublicDefinition(told))));
  const made = { blob, hash: shortName(blob.sha256) };
  offered.set(definition, made);
  return made;
}
