import { toAtmoError } from '../../../core/errors.ts';
import type { HubId } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Clock } from '../../../core/time/clock.ts';
import type { ToolDefinition } from '../../../tools/definition/tool-definition.ts';
import { toolId } from '../../../tools/definition/tool-name.ts';
import type { SchemaValidator } from '../../../tools/schema/schema-validator.ts';
import type { DropCounter } from '../drop-counter.ts';
import type { BlobStore } from '../exchange/blob-store.ts';
import { readRemoteDefinition } from './remote-definition.ts';

interface BookCollaborators {
  readonly blobs: BlobStore;
  readonly validator: SchemaValidator;
  readonly drops: DropCounter;
  readonly logger: Logger;
  /** `onNext` hears that more may be read, after one could not be for the budget of its hub; absent: no budget. */
  readonly turns?: { readonly clock: Clock; readonly onNext: () => void };
}

/** What is read of one hub's definitions in one turn, and how long a turn is: a hub that changes large ones all the time delays itself. */
const TURN_BYTES = 131_072;
const TURN_MS = 200;

/** Definitions of other hubs by hash: read when somebody asks for the first time, and shared by all hubs that announce the same. */
export class DefinitionBook {
  readonly #blobs: BlobStore;
  readonly #validator: SchemaValidator;
  readonly #drops: DropCounter;
  readonly #logger: Logger;
  /** Undefined stands for one that did not pass. */
  readonly #read = new Map<string, ToolDefinition | undefined>();

  readonly #turns: BookCollaborators['turns'];
  /** Bytes that were read in this turn. */
  readonly #spent = new Map<HubId, number>();
  #cancelTurn: (() => void) | undefined;
  #hasLeftSome = false;

  constructor({ blobs, validator, drops, logger, turns }: BookCollaborators) {
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
  get(hash: string, id: string, hub: HubId): ToolDefinition | undefined {
    const definition = this.#definition(hash, hub);
    return definition && toolId(definition) === id ? definition : undefined;
  }

  /** Forgets what is not `used` any more. */
  retain(used: ReadonlySet<string>): void {
    for (const hash of this.#read.keys()) if (!used.has(hash)) this.#read.delete(hash);
  }

  stop(): void {
    this.#cancelTurn?.();
    this.#cancelTurn = undefined;
  }

  #definition(hash: string, hub: HubId): ToolDefinition | undefined {
    if (this.#read.has(hash)) return this.#read.get(hash);
    const bytes = this.#blobs.get(hash);
    if (!bytes || !this.#mayRead(hub, bytes.length)) return undefined;
    const definition = this.#readOnce(hash, bytes);
    this.#read.set(hash, definition);
    return definition;
  }

  #mayRead(hub: HubId, bytes: number): boolean {
    if (!this.#turns) return true;
    const spent = (this.#spent.get(hub) ?? 0) + bytes;
    this.#cancelTurn ??= this.#turns.clock.after(TURN_MS, () => this.#nextTurn());
    if (spent > TURN_BYTES) {
      this.#hasLeftSome = true;
      return false;
    }
    this.#spent.set(hub, spent);
    return true;
  }

  #nextTurn(): void {
    const hasLeftSome = this.#hasLeftSome;
    this.#cancelTurn = undefined;
    this.#hasLeftSome = false;
    this.#spent.clear();
    if (hasLeftSome) this.#turns?.onNext();
  }

  #readOnce(hash: string, bytes: Uint8Array): ToolDefinition | undefined {
    try {
      return readRemoteDefinition(bytes, this.#validator);
    } catch (error) {
      this.#drops.count('bad_definition');
      this.#logger.warn('mesh.bad_definition', { hash, problem: toAtmoError(error).message });
      return undefined;
    }
  }
}
