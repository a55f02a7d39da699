import { toAtmoError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import type { ToolDefinition } from '../../tools/tool-definition.ts';
import { toolId } from '../../tools/tool-name.ts';
import type { BlobStore } from './blob-store.ts';
import type { DropCounter } from './drop-counter.ts';
import { readRemoteDefinition } from './remote-definition.ts';

interface BookCollaborators {
  readonly blobs: BlobStore;
  readonly validator: SchemaValidator;
  readonly drops: DropCounter;
  readonly logger: Logger;
}

/** Definitions of other hubs by hash: read when somebody asks for the first time, and shared by all hubs that announce the same. */
export class DefinitionBook {
  readonly #blobs: BlobStore;
  readonly #validator: SchemaValidator;
  readonly #drops: DropCounter;
  readonly #logger: Logger;
  /** Undefined stands for one that did not pass. */
  readonly #read = new Map<string, ToolDefinition | undefined>();

  constructor({ blobs, validator, drops, logger }: BookCollaborators) {
    this.#blobs = blobs;
    this.#validator = validator;
    this.#drops = drops;
    this.#logger = logger;
  }

  /** The definition of the tool `id` by its hash (hex); undefined while it is not here, does not pass or is another tool's. */
  get(hash: string, id: string): ToolDefinition | undefined {
    const definition = this.#definition(hash);
    return definition && toolId(definition) === id ? definition : undefined;
  }

  /** Forgets what is not `used` any more. */
  retain(used: ReadonlySet<string>): void {
    for (const hash of this.#read.keys()) if (!used.has(hash)) this.#read.delete(hash);
  }

  #definition(hash: string): ToolDefinition | undefined {
    if (this.#read.has(hash)) return this.#read.get(hash);
    const bytes = this.#blobs.get(hash);
    if (!bytes) return undefined;
    const definition = this.#readOnce(hash, bytes);
    this.#read.set(hash, definition);
    return definition;
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
