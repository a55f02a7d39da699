import '../matter-platform.ts';
import { Seconds } from '@matter/main';
import { GeneralCommissioning } from '@matter/main/clusters/general-commissioning';
import { type ClientNode, NetworkClient } from '@matter/main/node';
import { ClientInteraction, Invoke, type PeerAddress, PeerSet } from '@matter/main/protocol';
import { EndpointNumber, NodeId } from '@matter/main/types';
import type { RecognisedDevice } from '../../core/devices/device-administration.ts';
import type { Device } from '../../core/devices/device-model.ts';
import type { Logger } from '../../core/logger.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { MatterNode } from '../matter-node.ts';
import type { CommissioningEntry, CommissioningJournal } from './commissioning-journal.ts';

/** Port to the device directory: makes what has joined known under its name. Decimal node id in, its devices out. */
export interface DeviceRecorder {
  record(
    nodeId: string,
    wish: { readonly name?: string; readonly area?: string; readonly findings?: readonly string[] },
  ): Promise<readonly Device[]>;
  /** Those that seem to have been here before. */
  recognised(): readonly RecognisedDevice[];
}

const SEARCH_SECONDS = 20;
const RETRY_MS = 5 * 60_000;
/** The longest fail-safe that devices grant (Core §11.10.6.2, MaxCumulativeFailsafeSeconds default). */
const FORGOTTEN_MS = 15 * 60_000;

interface Collaborators {
  readonly matter: MatterNode;
  readonly journal: CommissioningJournal;
  readonly recorder: DeviceRecorder;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Brings interrupted commissionings to an end: takes the device over, finds that it forgot us, or says what to do. */
export class Adoption implements Disposable {
  readonly #collaborators: Collaborators;
  readonly #running = new Set<string>();
  readonly #abort = new AbortController();
  #cancelRetry: () => void = () => {};

  constructor(collaborators: Collaborators) {
    this.#collaborators = collaborators;
  }

  /** Looks after everything in the journal, in the background and again every five minutes while something is left. */
  start(): void {
    for (const entry of this.#collaborators.journal.list()) void this.adopt(entry);
  }

  /** Ends one commissioning if the device lets it; otherwise the journal says why not. Never throws. */
  async adopt(entry: CommissioningEntry): Promise<void> {
    if (this.#running.has(entry.id) || this.#abort.signal.aborted) return;
    this.#running.add(entry.id);
    try {
      await this.#settle(entry);
    } catch (error) {
      this.#giveUpForNow(entry, error);
    } finally {
      this.#running.delete(entry.id);
    }
  }

  [Symbol.dispose](): void {
    this.#abort.abort();
    this.#cancelRetry();
  }

  #retryLater(): void {
    this.#cancelRetry();
    this.#cancelRetry = this.#collaborators.clock.after(RETRY_MS, () => this.start());
  }

  async #settle(entry: CommissioningEntry): Promise<void> {
    const { matter, journal, recorder, logger } = this.#collaborators;
    const address = matter.fabric.addressOf(NodeId(BigInt(entry.nodeId)));
    const known = matter.peers.get(address);
    if (known === undefined) {
      if (entry.stage === 'intent') return journal.close(entry.id);
      await this.#complete(address);
      await this.#admit(address);
      logger.warn('commissioning.adopted', { nodeId: entry.nodeId, stage: entry.stage });
    } else if (!known.maybeStateOf(NetworkClient)?.autoSubscribe) {
      // The node was kept, and the hub died before it was told to follow it.
      await this.#admit(address);
    }
    const { name, area } = entry;
    await recorder.record(entry.nodeId, { ...(name !== undefined && { name }), ...(area !== undefined && { area }) });
    journal.close(entry.id);
  }

  /** Speaks to the node on our fabric and tells it to stay, which is allowed within its fail-safe (Core §11.10.7.6). */
  async #complete(address: PeerAddress): Promise<void> {
    const { env } = this.#collaborators.matter.node;
    const peer = env.get(PeerSet).for(address);
    try {
      await peer.connect({ connectionTimeout: Seconds(SEARCH_SECONDS), abort: this.#abort.signal });
      const interaction = new ClientInteraction({ environment: env, exchangeProvider: peer.exchangeProvider, address });
      const command = { endpoint: EndpointNumber(0), cluster: GeneralCommissioning, command: 'commissioningComplete' as const };
      // An error answer means that no fail-safe runs: the device has kept our fabric already.
      for await (const _response of interaction.invoke(Invoke({ commands: [command] })));
    } catch (error) {
      await peer.delete();
      throw error;
    }
  }

  async #admit(address: PeerAddress): Promise<ClientNode> {
    const { matter } = this.#collaborators;
    const node = await matter.peers.forAddress(address);
    await node.act((agent) => {
      const network = agent.get(NetworkClient);
      network.state.defaultSubscription = matter.subscription;
      network.state.autoSubscribe = true;
      network.internal.isNewlyCommissioned = true;
    });
    await node.start();
    return node;
  }

  #giveUpForNow(entry: CommissioningEntry, error: unknown): void {
    const { journal, logger, clock } = this.#collaborators;
    if (this.#abort.signal.aborted) return;
    const isForgotten = entry.stage === 'credentials' && clock.now() - entry.startedAtMs > FORGOTTEN_MS;
    if (isForgotten) {
      journal.close(entry.id);
      return;
    }
    logger.warn('commissioning.half', {
      nodeId: entry.nodeId,
      stage: entry.stage,
      reason: error instanceof Error ? error.message : String(error),
    });
    journal.fail(entry.id, 'not reachable');
    this.#retryLater();
  }
}
