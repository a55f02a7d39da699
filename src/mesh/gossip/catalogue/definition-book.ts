import { toAtmoError } from '../../../core/errors.ts';
import type { HubId } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Clock } from '../../../core/time/clock.ts';
import { toolId } from '../../../tools/definition/tool-name.ts';
import type { SchemaValidator } from '../../../tools/schema/schema-validator.ts';
import type { OfferedTool } from '../announce/offered-definition.ts';
import type { DropCounter } from '../drop-counter.ts';
import type { BlobStore } from '../exchange/blob-store.ts';
import { readRemoteDefinition } from './remote-definition.ts';

interface BookCollaborators {
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
export class DefinitionBook {
  readonly #blobs: BlobStore;
  readonly #validator: SchemaValidator;
  readonly #drops: DropCounter;
  readonly #logger: Logger;
  /** Undefined stands for one that did not pass. */
  readonly #read = new Map<string, OfferedTool | undefined>();

  readonly #turns: BookCollaborators['turns'];
  /** Bytes that were read in this turn. */
  readonly #spent = new Map<HubId, number>();
  readonly #budgets = new Map<HubId, Budget>();
  #spentByAll = 0;
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
