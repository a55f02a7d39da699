import type { Principal } from '../../core/access/principal.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import type { ToolRegistry } from '../tool-registry.ts';
import { type BootstrapEntry, bootstrapMistake } from './bootstrap-file.ts';
import type { ToolRegistrar } from './tool-registrar.ts';

/** What a discovery did. */
export interface SeedReport {
  readonly registered: readonly string[];
  readonly known: readonly string[];
  /** Tools of the bootstrap file that call a tool which is not there yet; they are tried again when tools come. */
  readonly waiting: readonly string[];
}

interface SeedCollaborators {
  readonly registry: ToolRegistry;
  readonly registrar: Pick<ToolRegistrar, 'register'>;
  readonly logger: Logger;
  /** The least that every hub has: it is there again after whatever took it away. */
  readonly nucleus: readonly RegisteredTool[];
  /** What the board makes possible, looked up anew each time. */
  readonly probe: () => Promise<readonly RegisteredTool[]>;
  /** The owner's own, read anew each time. */
  readonly bootstrap: () => readonly BootstrapEntry[];
  /** For whom those are registered. */
  readonly owner: Principal;
}

/** Registers the tools that a hub starts with (source 003, lifecycle 1 and 2); doing it again mends what is missing. */
export class SeedDiscovery implements AsyncDisposable {
  readonly #with: SeedCollaborators;
  #waiting: readonly BootstrapEntry[] = [];
  #seeded = new Map<string, string>();
  #stop: (() => void) | undefined;
  #isTrying = false;

  constructor(collaborators: SeedCollaborators) {
    this.#with = collaborators;
  }

  /** CONFIG_INVALID for a mistake in the bootstrap file. */
  async discover(): Promise<SeedReport> {
    const { registry, nucleus, probe, bootstrap } = this.#with;
    const found = [...nucleus, ...(await probe())];
    const missing = found.filter(({ id }) => !registry.get(id));
    for (const tool of missing) registry.register(tool);
    const known = found.filter((tool) => !missing.includes(tool)).map(({ id }) => id);
    const own = this.#seed(bootstrap());
    this.#stop ??= registry.onChange(({ kind }) => kind === 'added' && this.#tryWaiting());
    return {
      registered: [...missing.map(({ id }) => id), ...own.registered],
      known: [...known, ...own.known],
      waiting: this.#waiting.map(nameOf),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop?.();
  }

  #seed(entries: readonly BootstrapEntry[]): { readonly registered: readonly string[]; readonly known: readonly string[] } {
    const { registry } = this.#with;
    const known: string[] = [];
    const fresh = entries.filter((entry) => {
      const id = this.#seeded.get(nameOf(entry));
      if (id === undefined || !registry.get(id)) return true;
      known.push(id);
      return false;
    });
    return { registered: this.#register(fresh), known };
  }

  /** Those that call each other are registered in whatever order they stand in the file. */
  #register(entries: readonly BootstrapEntry[]): readonly string[] {
    const registered: string[] = [];
    let left = entries;
    for (let before = -1; before !== left.length; ) {
      before = left.length;
      left = left.filter((entry) => {
        const id = this.#registerOne(entry);
        if (id !== undefined) registered.push(id);
        return id === undefined;
      });
    }
    this.#waiting = left;
    return registered;
  }

  /** Undefined when a tool that it calls is not there. */
  #registerOne(entry: BootstrapEntry): string | undefined {
    const { registrar, owner } = this.#with;
    try {
      const { id } = registrar.register(entry.body, owner, 'for this run');
      this.#seeded.set(nameOf(entry), id);
      return id;
    } catch (thrown) {
      if (thrown instanceof AtmoError && thrown.code === 'TOOL_NOT_FOUND') return undefined;
      throw bootstrapMistake(entry, thrown);
    }
  }

  /** Devices bring their tools when they have been heard of. */
  #tryWaiting(): void {
    if (this.#waiting.length === 0 || this.#isTrying) return;
    this.#isTrying = true;
    try {
      this.#register(this.#waiting);
    } catch (thrown) {
      this.#with.logger.warn('tools.bootstrap_failed', { problem: toAtmoError(thrown).message });
      this.#waiting = [];
    } finally {
      this.#isTrying = false;
    }
  }
}

function nameOf({ body, place }: BootstrapEntry): string {
  const { id, name, tool } = body;
  if (typeof id === 'string') return id;
  if (typeof name === 'string') return name;
  return typeof tool === 'object' && tool !== null && 'name' in tool && typeof tool.name === 'string' ? tool.name : place;
}
