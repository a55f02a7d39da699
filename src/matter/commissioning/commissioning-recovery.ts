import type { HubContext } from '../../core/context.ts';
import '../matter-platform.ts';
import { randomUUID } from 'node:crypto';
import { Seconds } from '@matter/main';
import { GeneralCommissioning } from '@matter/main/clusters/general-commissioning';
import { NetworkClient } from '@matter/main/node';
import { ClientInteraction, Invoke, type PeerAddress, PeerSet } from '@matter/main/protocol';
import { EndpointNumber, NodeId } from '@matter/main/types';
import { type Clock, isoTime } from '../../core/clock.ts';
import type { HalfCommissioned, RecognisedDevice } from '../../core/devices/device-administration.ts';
import type { Device } from '../../core/devices/device-model.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, present } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { JoiningNodeDetails } from '../devices/device-store.ts';
import type { MatterNode } from '../matter-node.ts';
import type { CommissionStage } from './commissioning-flow.ts';

/** Port to the device directory: adds a node that has joined the fabric. */
export interface DeviceRecorder {
  record(nodeId: string, details: JoiningNodeDetails): Promise<readonly Device[]>;
  recognised(): readonly RecognisedDevice[];
}

const SEARCH_SECONDS = 20;
const RETRY_MS = 5 * 60_000;
/** Longest fail-safe time of a device (Core §11.10.6.2, default of MaxCumulativeFailsafeSeconds). */
const MAX_FAILSAFE_MS = 15 * 60_000;

interface RecoveryCollaborators extends Pick<HubContext, 'clock' | 'logger'> {
  readonly matter: MatterNode;
  readonly commissionings: CommissioningStore;
  readonly recorder: DeviceRecorder;
}

/** Finishes interrupted commissionings. Adds a device that has our fabric, forgets a device that has removed it, and retries the others. */
export class CommissioningRecovery implements Disposable {
  readonly #collaborators: RecoveryCollaborators;
  readonly #running = new Set<string>();
  readonly #abort = new AbortController();
  #cancelRetry: () => void = () => {};

  constructor(collaborators: RecoveryCollaborators) {
    this.#collaborators = collaborators;
  }

  /** Recovers all stored commissionings in the background. Repeats this every five minutes while any remain. */
  start(): void {
    for (const entry of this.#collaborators.commissionings.list()) void this.recover(entry);
  }

  /** Recovers one commissioning. If it cannot be finished, stores why. Never throws. */
  async recover(entry: CommissioningEntry): Promise<void> {
    if (this.#running.has(entry.id) || this.#abort.signal.aborted) return;
    this.#running.add(entry.id);
    try {
      await this.#settle(entry);
    } catch (error) {
      this.#postpone(entry, error);
    } finally {
      this.#running.delete(entry.id);
    }
  }

  [Symbol.dispose](): void {
    this.#abort.abort();
    this.#cancelRetry();
  }

  async #settle(entry: CommissioningEntry): Promise<void> {
    const { matter, commissionings, recorder, logger } = this.#collaborators;
    const address = matter.fabric.addressOf(NodeId(BigInt(entry.nodeId)));
    const known = matter.peers.get(address);
    if (known === undefined) {
      if (entry.stage === 'intent') return commissionings.close(entry.id);
      await this.#complete(address);
      await this.#admit(address);
      logger.warn('commissioning.adopted', { nodeId: entry.nodeId, stage: entry.stage });
    } else if (!known.maybeStateOf(NetworkClient)?.autoSubscribe) {
      // The hub stopped between two steps: matter.js had stored the node, but the hub had not subscribed to the node yet.
      await this.#admit(address);
    }
    const { name, area } = entry;
    await recorder.record(entry.nodeId, present({ name, area }));
    commissionings.close(entry.id);
  }

  /** Sends CommissioningComplete on our fabric. The device accepts it until the fail-safe expires (Core §11.10.7.6). */
  async #complete(address: PeerAddress): Promise<void> {
    const { env } = this.#collaborators.matter.node;
    const peer = env.get(PeerSet).for(address);
    try {
      await peer.connect({ connectionTimeout: Seconds(SEARCH_SECONDS), abort: this.#abort.signal });
      const interaction = new ClientInteraction({ environment: env, exchangeProvider: peer.exchangeProvider, address });
      const command = { endpoint: EndpointNumber(0), cluster: GeneralCommissioning, command: 'commissioningComplete' as const };
      // The status is ignored. An error status means that no fail-safe runs, so the device already has our fabric permanently.
      for await (const _response of interaction.invoke(Invoke({ commands: [command] })));
    } catch (error) {
      await peer.delete();
      throw error;
    }
  }

  async #admit(address: PeerAddress): Promise<void> {
    const { matter } = this.#collaborators;
    const node = await matter.peers.forAddress(address);
    await node.act((agent) => {
      const network = agent.get(NetworkClient);
      network.state.defaultSubscription = matter.subscription;
      network.state.autoSubscribe = true;
      network.internal.isNewlyCommissioned = true;
    });
    await node.start();
  }

  #postpone({ id, nodeId, stage, startedAtMs }: CommissioningEntry, error: unknown): void {
    const { commissionings, logger, clock } = this.#collaborators;
    if (this.#abort.signal.aborted) return;
    const isExpired = stage === 'credentials' && clock.now() - startedAtMs > MAX_FAILSAFE_MS;
    if (isExpired) {
      commissionings.close(id);
      return;
    }
    logger.warn('commissioning.postponed', { nodeId, stage, reason: error instanceof Error ? error.message : String(error) });
    commissionings.fail(id, 'not reachable');
    this.#cancelRetry();
    this.#cancelRetry = clock.after(RETRY_MS, () => this.start());
  }
}

const SPACE = 'commissioning';
const STAGES: readonly CommissionStage[] = ['intent', 'credentials', 'completing', 'commissioned'];

/** A commissioning that has begun, and whose device is not in the device directory yet. */
export interface CommissioningEntry {
  readonly id: string;
  /** Operational node id as decimal text. The hub chooses the id before it contacts the device. */
  readonly nodeId: string;
  readonly startedAtMs: number;
  readonly stage: CommissionStage;
  readonly name?: string;
  readonly area?: string;
  /** The upper 4 bits of the 12-bit discriminator. */
  readonly shortDiscriminator?: number;
  /** Why the recovery could not finish the commissioning; absent until a recovery fails. */
  readonly fault?: string;
}

/** Stores open commissionings. Each is stored before the device receives any data, and removed when the device directory has the device. */
export class CommissioningStore {
  readonly #store: KeyValueStore;
  readonly #clock: Clock;

  constructor({ store, clock }: { readonly store: KeyValueStore; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Stores a new commissioning. If it cannot be written, throws STORAGE_FAILED; the caller must then send nothing to the device. */
  open(nodeId: string, details: Pick<CommissioningEntry, 'name' | 'area' | 'shortDiscriminator'>): CommissioningEntry {
    const { name, area, shortDiscriminator } = details;
    const begun = { id: randomUUID(), nodeId, startedAtMs: this.#clock.now(), stage: 'intent' } as const;
    // The fields are copied by name because `details` may contain the setup code, which must never be stored.
    const entry = { ...begun, ...present({ name, area, shortDiscriminator }) };
    this.#write(entry);
    return entry;
  }

  /** Stores how far the commissioning of the device has come. */
  reach(id: string, stage: CommissionStage): void {
    this.#write({ ...this.get(id), stage });
  }

  /** Stores why the device is only half commissioned. */
  fail(id: string, fault: string): void {
    this.#write({ ...this.get(id), fault });
  }

  /** Removes the entry of an added device. Also removes entries of earlier failed attempts, as the device has removed their credentials. */
  finish(id: string): void {
    const { shortDiscriminator } = this.get(id);
    const isEarlierTry = (entry: CommissioningEntry): boolean =>
      entry.fault !== undefined && entry.stage === 'credentials' && entry.shortDiscriminator === shortDiscriminator;
    if (shortDiscriminator !== undefined) for (const entry of this.list().filter(isEarlierTry)) this.close(entry.id);
    this.close(id);
  }

  /** Removes an entry. Called if the device was added, if it has no data of our fabric, or if a person forgets the entry. */
  close(id: string): void {
    this.#store.delete(SPACE, id);
  }

  /** Returns an open commissioning. Throws NOT_FOUND if it does not exist. */
  get(id: string): CommissioningEntry {
    const entry = parseEntry(id, this.#store.get(SPACE, id));
    if (entry === undefined) throw new AtmoError('NOT_FOUND', `No commissioning ${JSON.stringify(id)} is open`);
    return entry;
  }

  list(): readonly CommissioningEntry[] {
    return this.#store.entries(SPACE).flatMap(({ key, value }) => parseEntry(key, value) ?? []);
  }

  /** Returns the commissionings that a person may have to finish. */
  halfCommissioned(): readonly HalfCommissioned[] {
    return this.list()
      .filter((entry) => entry.fault !== undefined)
      .map((entry) => ({ id: entry.id, startedAtMs: entry.startedAtMs, step: entry.stage, advice: adviceFor(entry) }));
  }

  #write({ id, ...value }: CommissioningEntry): void {
    this.#store.set(SPACE, id, value);
  }
}

/** Returns advice for a person whose device is only half commissioned. */
function adviceFor(entry: CommissioningEntry): string {
  const which = entry.name === undefined ? `The device of ${isoTime(entry.startedAtMs)}` : `"${entry.name}"`;
  const retrying = 'The hub keeps looking for it and takes it over as soon as it answers.';
  if (entry.stage === 'completing' || entry.stage === 'commissioned') {
    return `${which} may belong to this home already but does not answer. ${retrying} If it was reset or sold, forget this entry; to commission it anew, reset it to factory settings first.`;
  }
  return `${which} was interrupted before it had joined. ${retrying} Otherwise it forgets this home by itself within 15 minutes: then commission it again, after a factory reset if it still refuses.`;
}

function parseEntry(id: string, value: Json | undefined): CommissioningEntry | undefined {
  if (!isJsonObject(value)) return undefined;
  const { nodeId, startedAtMs, name, area, shortDiscriminator, fault } = value;
  const stage = STAGES.find((known) => known === value.stage);
  if (stage === undefined || typeof nodeId !== 'string' || typeof startedAtMs !== 'number') return undefined;
  const text = (member: Json | undefined) => (typeof member === 'string' ? member : undefined);
  const bits = typeof shortDiscriminator === 'number' ? shortDiscriminator : undefined;
  return {
    id,
    nodeId,
    startedAtMs,
    stage,
    ...present({ name: text(name), area: text(area), shortDiscriminator: bits, fault: text(fault) }),
  };
}
