import type { AttributePath } from '../../core/devices/device-model.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { NodeDevices } from './node-devices.ts';
import { clustersOf } from './peer-clusters.ts';

interface SlowPollOptions {
  readonly node: NodeDevices;
  readonly clock: Clock;
  readonly random: () => number;
  /** Reads from the device; failures are the caller's business. */
  read(paths: readonly AttributePath[]): Promise<unknown>;
}

const EVERY_MS = 300_000;
const FIRST_WITHIN_MS = 30_000;
/** As many paths as any device has to accept in one request (Core §2.11.2.1). */
const PATHS_PER_READ = 9;

/** Reads now and then what a device does not report by itself: attributes of quality C (Core §7.7.6). */
export class SlowPoll {
  readonly #options: SlowPollOptions;
  #cancel: (() => void) | undefined;
  #isStopped = false;

  constructor(options: SlowPollOptions) {
    this.#options = options;
  }

  start(): void {
    this.#schedule(FIRST_WITHIN_MS * this.#options.random());
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return;
    this.#cancel = this.#options.clock.after(delayMs, () => void this.#poll());
  }

  async #poll(): Promise<void> {
    const { node, random } = this.#options;
    try {
      if (node.reachability === 'reachable' && !node.isSleepy) await this.#readAll(omittedPaths(node));
    } catch {
      // The next round tries again; whether the node is there is the monitor's question.
    }
    this.#schedule(EVERY_MS * (0.9 + random() / 5));
  }

  async #readAll(paths: readonly AttributePath[]): Promise<void> {
    for (let start = 0; start < paths.length && !this.#isStopped; start += PATHS_PER_READ) {
      await this.#options.read(paths.slice(start, start + PATHS_PER_READ));
    }
  }
}

/** Where a node has attributes whose changes it does not report. */
export function omittedPaths(node: NodeDevices): readonly AttributePath[] {
  return node.known.flatMap(({ device, planned }) =>
    planned.endpoints.flatMap((number) => {
      const endpoint = node.endpoint(number);
      const clusters = endpoint === undefined ? [] : [...clustersOf(endpoint).values()];
      return clusters.flatMap(({ shape }) =>
        [...shape.attributes.values()]
          .filter(({ facts }) => facts.changesOmitted)
          .map(({ name }) => ({ device: device.id, endpoint: number, cluster: shape.name, attribute: name })),
      );
    }),
  );
}
