import '../matter-platform.ts';
import { ChannelType } from '@matter/main';
import type { ClientNode, Peers } from '@matter/main/node';
import type { Clock } from '../../core/time/clock.ts';
import type { SetupPayload } from './setup-code.ts';

type Discovery = ReturnType<Peers['discover']>;

/** Devices that fit a setup code, as they show themselves on the network or over BLE. */
export class DeviceSearch implements Disposable {
  readonly #discovery: Discovery;
  readonly #found: ClientNode[] = [];
  readonly #seen = new Set<ClientNode>();
  #wake: () => void = () => {};
  #sawClosedWindow = false;

  constructor(peers: Peers, payload: SetupPayload, transport: 'ip' | 'ble') {
    const channel = transport === 'ble' ? ChannelType.BLE : ChannelType.UDP;
    const identifier =
      payload.discriminator === undefined
        ? { shortDiscriminator: payload.shortDiscriminator ?? 0 }
        : { longDiscriminator: payload.discriminator };
    this.#discovery = peers.discover({ ...identifier, scannerFilter: (scanner) => scanner.type === channel });
    this.#discovery.discovered.on((node) => this.#take(node));
    // `stop` settles the search; a failing scanner shows itself as nothing found.
    this.#discovery.then(
      () => {},
      () => {},
    );
  }

  /** True when a fitting device said that it takes no pairing now (Core §4.3.1, CM=0). */
  get sawClosedWindow(): boolean {
    return this.#sawClosedWindow;
  }

  /** The next device, or undefined when none came within `waitMs` or the signal aborted. */
  async next(clock: Clock, waitMs: number, signal: AbortSignal): Promise<ClientNode | undefined> {
    if (this.#found.length === 0 && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const cancel = clock.after(waitMs, resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
      await promise;
      cancel();
    }
    return signal.aborted ? undefined : this.#found.shift();
  }

  [Symbol.dispose](): void {
    this.#discovery.stop();
  }

  #take(node: ClientNode): void {
    if (this.#seen.has(node)) return;
    if (node.state.commissioning.commissioningMode === 0) {
      this.#sawClosedWindow = true;
      return;
    }
    this.#seen.add(node);
    this.#found.push(node);
    this.#wake();
  }
}
