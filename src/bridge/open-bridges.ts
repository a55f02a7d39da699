import type { HubContext } from '../core/context.ts';
import type { BridgedEndpoint, BridgeNode, BridgeNodeOptions, BridgeNodes } from '../core/devices/matter-bridge.ts';
import { toAtmoError } from '../core/errors.ts';
import type { HubProblems } from '../core/health.ts';
import { present } from '../core/json.ts';
import type { BridgeStore } from './bridge-store.ts';

/** Wait before a bridge that could not open is tried again. It doubles after each failure, up to the longest one. */
const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 600_000;

interface OpenBridgesParts extends Pick<HubContext, 'clock' | 'logger'> {
  readonly problems: Pick<HubProblems, 'raise' | 'clear'>;
  readonly store: BridgeStore;
  readonly nodes: BridgeNodes;
  /** UDP port of the first bridge, if the configuration demands one. Each further bridge has the next one. */
  readonly firstPort: number | undefined;
}

/** What the bridges are for the hub. */
export interface BridgeUse {
  /** Returns the options of a bridge that have nothing to do with its port. */
  readonly optionsOf: (bridge: number) => Omit<BridgeNodeOptions, 'number' | 'port' | 'fixedPort'>;
  readonly endpointsOf: (bridge: number) => readonly BridgedEndpoint[];
  /** Called when it is time to try a bridge again that could not open. */
  readonly onRetry: (bridge: number) => void;
}

interface Failure {
  readonly message: string;
  readonly waitMs: number;
  readonly cancel: () => void;
}

/** The bridges that are open, and those that could not open. These are tried again, after growing waits. */
export class OpenBridges implements AsyncDisposable {
  readonly #parts: OpenBridgesParts;
  readonly #use: BridgeUse;
  readonly #nodes = new Map<number, BridgeNode>();
  readonly #failures = new Map<number, Failure>();

  constructor(parts: OpenBridgesParts, use: BridgeUse) {
    this.#parts = parts;
    this.#use = use;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { cancel } of this.#failures.values()) cancel();
    const nodes = [...this.#nodes.values()];
    this.#nodes.clear();
    await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
  }

  get(bridge: number): BridgeNode | undefined {
    return this.#nodes.get(bridge);
  }

  /** Returns the numbers of the open bridges. */
  numbers(): readonly number[] {
    return [...this.#nodes.keys()];
  }

  /** Returns why a bridge is not open, in words for its owner; undefined if it is, or is not needed. */
  problemOf(bridge: number): string | undefined {
    return this.#failures.get(bridge)?.message;
  }

  /** Opens a bridge. Rejects with the reason if it cannot open; it is then tried again later. */
  async open(bridge: number): Promise<BridgeNode> {
    const { store, nodes, firstPort } = this.#parts;
    const fixedPort = firstPort === undefined ? undefined : firstPort + bridge - 1;
    const { name, onCommand, onEcosystemsChanged, onReset } = this.#use.optionsOf(bridge);
    const options = {
      number: bridge,
      name,
      onCommand,
      onEcosystemsChanged,
      onReset,
      ...present({ port: store.portOf(bridge), fixedPort }),
    };
    try {
      const node = await nodes.open(options, this.#use.endpointsOf(bridge));
      this.#nodes.set(bridge, node);
      this.#forgetFailure(bridge);
      store.putPort(bridge, node.port);
      return node;
    } catch (thrown) {
      this.#fail(bridge, thrown);
      throw thrown;
    }
  }

  /** Closes a bridge that is not needed any more, and deletes its storage. */
  async erase(bridge: number): Promise<void> {
    const node = this.#nodes.get(bridge);
    this.#forgetFailure(bridge);
    this.#nodes.delete(bridge);
    await node?.[Symbol.asyncDispose]();
    await this.#parts.nodes.erase(bridge);
  }

  /** Reports what went wrong with a bridge. */
  report(bridge: number, thrown: unknown): void {
    const { message } = toAtmoError(thrown);
    this.#parts.logger.error('bridge.failed', { bridge, problem: message });
    this.#parts.problems.raise(subjectOf(bridge), `The Matter bridge ${bridge} does not work: ${message}`);
  }

  /** Ends the report about a bridge, unless it could not open. */
  recover(bridge: number): void {
    if (!this.#failures.has(bridge)) this.#parts.problems.clear(subjectOf(bridge));
  }

  #forgetFailure(bridge: number): void {
    this.#failures.get(bridge)?.cancel();
    this.#failures.delete(bridge);
    this.recover(bridge);
  }

  #fail(bridge: number, thrown: unknown): void {
    const before = this.#failures.get(bridge);
    before?.cancel();
    const waitMs = before ? Math.min(LONGEST_WAIT_MS, before.waitMs * 2) : FIRST_WAIT_MS;
    const cancel = this.#parts.clock.after(waitMs, () => this.#use.onRetry(bridge));
    this.#failures.set(bridge, { message: toAtmoError(thrown).message, waitMs, cancel });
  }
}

function subjectOf(bridge: number): string {
  return `bridge ${bridge}`;
}
