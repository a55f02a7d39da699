import '../matter-platform.ts';
import { randomUUID } from 'node:crypto';
import { Seconds } from '@matter/main';
import { GeneralCommissioning } from '@matter/main/clusters/general-commissioning';
import { type ClientNode, NetworkClient } from '@matter/main/node';
import { ClientInteraction, Invoke, type PeerAddress, PeerSet } from '@matter/main/protocol';
import { EndpointNumber, NodeId } from '@matter/main/types';
import type { Clock } from '../../core/clock.ts';
import type { HalfCommissioned, RecognisedDevice } from '../../core/devices/device-administration.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import type { Logger } from '../../core/logger.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { MatterNode } from '../matter-node.ts';
import type { CommissionStage } from './commissioning-flow.ts';

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

interface RecoveryCollaborators {
  readonly matter: MatterNode;
  readonly journal: CommissioningStore;
  readonly recorder: DeviceRecorder;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Brings interrupted commissionings to an end: takes the device over, finds that it forgot us, or says what to do. */
export class CommissioningRecovery implements Disposable {
  readonly #collaborators: RecoveryCollaborators;
  readonly #running = new Set<string>();
  readonly #abort = new AbortController();
  #cancelRetry: () => void = () => {};

  constructor(collaborators: RecoveryCollaborators) {
    this.#collaborators = collaborators;
  }

  /** Looks after everything in the journal, in the background and again every five minutes while something is left. */
  start(): void {
    for (const entry of this.#collaborators.journal.list()) void this.recover(entry);
  }

  /** Ends one commissioning if the device lets it; otherwise the journal says why not. Never throws. */
  async recover(entry: CommissioningEntry): Promise<void> {
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

const SPACE = 'commissioning';
const STAGES: readonly CommissionStage[] = ['intent', 'credentials', 'completing', 'commissioned'];

/** One commissioning that has begun and is not recorded yet. */
export interface CommissioningEntry {
  readonly id: string;
  /** Operational node id chosen before the device hears of it, decimal text. */
  readonly nodeId: string;
  readonly startedAtMs: number;
  readonly stage: CommissionStage;
  readonly name?: string;
  readonly area?: string;
  /** The upper 4 bits of the discriminator, which the device shows to everybody: tells which device it may be. */
  readonly shortDiscriminator?: number;
  /** Why adoption could not finish it; absent while it runs. */
  readonly fault?: string;
}

/** What is known of a device before it is commissioned. */
export type CommissioningDetails = Pick<CommissioningEntry, 'name' | 'area' | 'shortDiscriminator'>;

/** Each commissioning is on the disk before the device is asked, and stays there until the hub knows the device. */
export class CommissioningStore {
  readonly #store: KeyValueStore;
  readonly #clock: Clock;

  constructor(collaborators: { readonly store: KeyValueStore; readonly clock: Clock }) {
    this.#store = collaborators.store;
    this.#clock = collaborators.clock;
  }

  /** Notes the intent. STORAGE_FAILED when it cannot be written: then the device must not be touched. */
  open(nodeId: string, wish: CommissioningDetails): CommissioningEntry {
    const entry: CommissioningEntry = {
      id: randomUUID(),
      nodeId,
      startedAtMs: this.#clock.now(),
      stage: 'intent',
      ...(wish.name === undefined ? {} : { name: wish.name }),
      ...(wish.area === undefined ? {} : { area: wish.area }),
      ...(wish.shortDiscriminator === undefined ? {} : { shortDiscriminator: wish.shortDiscriminator }),
    };
    this.#write(entry);
    return entry;
  }

  /** Notes how far the device is. */
  reach(id: string, stage: CommissionStage): void {
    this.#write({ ...this.get(id), stage });
  }

  /** Notes why the device is only half commissioned. */
  fail(id: string, fault: string): void {
    this.#write({ ...this.get(id), fault });
  }

  /** Removes the entry of a device that is in the home now, and of earlier tries that it has forgotten. */
  finish(id: string): void {
    const { shortDiscriminator } = this.get(id);
    const isEarlierTry = (entry: CommissioningEntry): boolean =>
      entry.fault !== undefined && entry.stage === 'credentials' && entry.shortDiscriminator === shortDiscriminator;
    if (shortDiscriminator !== undefined) for (const entry of this.list().filter(isEarlierTry)) this.close(entry.id);
    this.close(id);
  }

  /** Removes an entry: the hub knows the device, or the device knows nothing of the hub. */
  close(id: string): void {
    this.#store.delete(SPACE, id);
  }

  /** NOT_FOUND when there is no such entry. */
  get(id: string): CommissioningEntry {
    const entry = parseEntry(id, this.#store.get(SPACE, id));
    if (entry === undefined) throw new AtmoError('NOT_FOUND', `No commissioning ${JSON.stringify(id)} is open`);
    return entry;
  }

  list(): readonly CommissioningEntry[] {
    return this.#store
      .entries(SPACE)
      .map(({ key, value }) => parseEntry(key, value))
      .filter((entry) => entry !== undefined);
  }

  /** What people have to know of. */
  halfCommissioned(): readonly HalfCommissioned[] {
    return this.list()
      .filter((entry) => entry.fault !== undefined)
      .map((entry) => ({ id: entry.id, startedAtMs: entry.startedAtMs, step: entry.stage, advice: adviceFor(entry) }));
  }

  #write({ id, ...value }: CommissioningEntry): void {
    this.#store.set(SPACE, id, value);
  }
}

/** What the person has to do with a device that was left at this stage. */
function adviceFor(entry: CommissioningEntry): string {
  const which = entry.name === undefined ? `The device of ${new Date(entry.startedAtMs).toISOString()}` : `"${entry.name}"`;
  const retrying = 'The hub keeps looking for it and takes it over as soon as it answers.';
  if (entry.stage === 'completing' || entry.stage === 'commissioned') {
    return `${which} may belong to this home already but does not answer. ${retrying} If it was reset or sold, forget this entry; to commission it anew, reset it to factory settings first.`;
  }
  return `${which} was interrupted before it had joined. ${retrying} Otherwise it forgets this home by itself within 15 minutes: then commission it again, after a factory reset if it still refuses.`;
}

function parseEntry(id: string, value: Json | undefined): CommissioningEntry | undefined {
  if (!isJsonObject(value)) return undefined;
  const stage = STAGES.find((known) => known === value.stage);
  if (stage === undefined || typeof value.nodeId !== 'string' || typeof value.startedAtMs !== 'number') return undefined;
  return {
    id,
    nodeId: value.nodeId,
    startedAtMs: value.startedAtMs,
    stage,
    ...(typeof value.name === 'string' ? { name: value.name } : {}),
    ...(typeof value.area === 'string' ? { area: value.area } : {}),
    ...(typeof value.shortDiscriminator === 'number' ? { shortDiscriminator: value.shortDiscriminator } : {}),
    ...(typeof value.fault === 'string' ? { fault: value.fault } : {}),
  };
}
