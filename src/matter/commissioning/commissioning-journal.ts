import { randomUUID } from 'node:crypto';
import type { HalfCommissioned } from '../../core/devices/device-administration.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import type { Clock } from '../../core/time/clock.ts';
import type { CommissionStage } from './commission-flow.ts';

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
export type CommissioningWish = Pick<CommissioningEntry, 'name' | 'area' | 'shortDiscriminator'>;

/** Each commissioning is on the disk before the device is asked, and stays there until the hub knows the device. */
export class CommissioningJournal {
  readonly #store: KeyValueStore;
  readonly #clock: Clock;

  constructor(collaborators: { readonly store: KeyValueStore; readonly clock: Clock }) {
    this.#store = collaborators.store;
    this.#clock = collaborators.clock;
  }

  /** Notes the intent. STORAGE_FAILED when it cannot be written: then the device must not be touched. */
  open(nodeId: string, wish: CommissioningWish): CommissioningEntry {
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
