import type { Principal } from '../../core/auth/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import type { BoardPart } from '../../tools/builtin/board-tools.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import {
  type FileRecord,
  type RecordFile,
  type ReservedNames,
  recordName,
  type SkippedRecord,
  skippedRecord,
} from '../../tools/manifest/record-file.ts';
import type { ToolRegistry } from '../../tools/registry/tool-registry.ts';
import type { ToolRegistrar } from './tool-registrar.ts';

/** The result of a discovery. `registered` are the ids of tools that were missing, `known` the ids of the others. */
export interface SeedReport {
  readonly registered: readonly string[];
  readonly known: readonly string[];
  /** Tools of the bootstrap file that call a tool which is not registered yet. They are tried again whenever a tool is added. */
  readonly waiting: readonly string[];
  /** Tools of the bootstrap file that have a mistake, or whose name is already used. */
  readonly leftOut: readonly SkippedRecord[];
  /** The hardware parts of the board, configured or not. */
  readonly board: readonly BoardPart[];
}

interface SeedCollaborators {
  readonly registry: ToolRegistry;
  readonly registrar: Pick<ToolRegistrar, 'register'>;
  /** Reports the skipped tools of the bootstrap file to the owner. */
  readonly report: (leftOut: readonly SkippedRecord[]) => void;
  /** The built-in tools of every hub. `discover` registers those that are missing. */
  readonly builtIn: readonly RegisteredTool[];
  /** Returns the tools for the board's current hardware. */
  readonly probe: () => Promise<readonly RegisteredTool[]>;
  readonly parts: () => Promise<readonly BoardPart[]>;
  readonly bootstrap: () => RecordFile;
  /** Reserves the names of all tools in the bootstrap file: no agent can take the name of a tool that is registered later. */
  readonly reserved: ReservedNames;
  /** The principal that registers the tools of the bootstrap file. */
  readonly owner: Principal;
}

/** Registers built-in tools, tools for the board's hardware and tools of the bootstrap file. `discover` can be repeated at any time. */
export class SeedDiscovery implements AsyncDisposable {
  readonly #collaborators: SeedCollaborators;
  #waiting: readonly FileRecord[] = [];
  #leftOut: SkippedRecord[] = [];
  #seeded = new Map<string, string>();
  #stop: (() => void) | undefined;
  #isTrying = false;

  constructor(collaborators: SeedCollaborators) {
    this.#collaborators = collaborators;
  }

  async discover(): Promise<SeedReport> {
    const { registry, builtIn, probe, parts, bootstrap, reserved } = this.#collaborators;
    const found = [...builtIn, ...(await probe())];
    const missing = found.filter(({ id }) => !registry.get(id));
    for (const tool of missing) registry.register(tool);
    const known = found.filter((tool) => !missing.includes(tool)).map(({ id }) => id);
    const file = bootstrap();
    reserved.reserve('bootstrap', file.records);
    this.#leftOut = [...file.leftOut];
    const own = this.#seed(file.records);
    this.#collaborators.report(this.#leftOut);
    this.#stop ??= registry.onChange(({ kind }) => kind === 'added' && this.#tryWaiting());
    return {
      registered: [...missing.map(({ id }) => id), ...own.registered],
      known: [...known, ...own.known],
      waiting: this.#waiting.map(nameOf),
      leftOut: this.#leftOut,
      board: await parts(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop?.();
  }

  #seed(entries: readonly FileRecord[]): { readonly registered: readonly string[]; readonly known: readonly string[] } {
    const { registry } = this.#collaborators;
    const known: string[] = [];
    const fresh = entries.filter((entry) => {
      const id = this.#seeded.get(nameOf(entry));
      if (id === undefined || !registry.get(id)) return true;
      known.push(id);
      return false;
    });
    return { registered: this.#register(fresh), known };
  }

  /** Registers the entries of the file. An entry may call the tool of a later entry. */
  #register(entries: readonly FileRecord[]): readonly string[] {
    const registered: string[] = [];
    let left = entries;
    for (let before = -1; before !== left.length; ) {
      before = left.length;
      left = left.filter((entry) => !this.#isDone(entry, registered));
    }
    this.#waiting = left;
    return registered;
  }

  /** Registers an entry, or skips it if it has a mistake. Returns false if the entry must wait for a tool that it calls. */
  #isDone(entry: FileRecord, registered: string[]): boolean {
    const { registrar, owner } = this.#collaborators;
    try {
      const { id } = registrar.register(entry.body, owner, 'for this run');
      this.#seeded.set(nameOf(entry), id);
      registered.push(id);
    } catch (thrown) {
      if (thrown instanceof AtmoError && thrown.code === 'TOOL_NOT_FOUND') return false;
      this.#leftOut.push(skippedRecord(entry, nameOf(entry), thrown));
    }
    return true;
  }

  /** Tries again to register the waiting entries. They may call device tools, which are registered after the file is read. */
  #tryWaiting(): void {
    if (this.#waiting.length === 0 || this.#isTrying) return;
    this.#isTrying = true;
    const before = this.#leftOut.length;
    this.#register(this.#waiting);
    this.#collaborators.report(this.#leftOut.slice(before));
    this.#isTrying = false;
  }
}

function nameOf(record: FileRecord): string {
  return recordName(record) ?? record.place();
}
