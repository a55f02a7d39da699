import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseDeviceId, parseSensorId } from '../../src/core/devices/device-names.ts';
import type { SensorInfo } from '../../src/core/devices/sensor-readings.ts';
import { EventBus, type HubEvent } from '../../src/core/events.ts';
import type { SensorId } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { HistoryStore, type HistoryStoreOptions } from '../../src/storage/history/history-store.ts';
import { StateStore, type StateStoreOptions } from '../../src/storage/state-store.ts';
import { ManualClock } from '../manual-clock.ts';
import { journalParts } from './storage-services.ts';

/** A state directory of its own with a clock moved by hand; disposing closes the stores and removes the directory. */
export class AuditLogFixture implements AsyncDisposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'atmo-journal-'));
  readonly snapshotDirectory = join(this.directory, 'snapshots');
  readonly clock = new ManualClock();
  readonly warnings: HubEvent[] = [];
  readonly collaborators;
  #stores: AsyncDisposable[] = [];

  constructor() {
    const events = new EventBus('urn:test', this.clock);
    events.listen((event) => this.warnings.push(event));
    this.collaborators = { clock: this.clock, logger: silentLogger, events, ...journalParts(this.directory) };
  }

  async state(options: Partial<StateStoreOptions> = {}): Promise<StateStore> {
    return await this.#start(new StateStore(this.collaborators, { ...this.#folders(), skipsCopyAtStop: true, ...options }));
  }

  async history(options: Partial<HistoryStoreOptions> = {}): Promise<HistoryStore> {
    return await this.#start(new HistoryStore(this.collaborators, { ...this.#folders(), ...options }));
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  /** Stops the stores. */
  async close(): Promise<void> {
    for (const store of this.#stores) await store[Symbol.asyncDispose]();
    this.#stores = [];
    // The next start reads what the file says.
    await this.collaborators.fileAnchors[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    rmSync(this.directory, { recursive: true, force: true });
  }

  #folders() {
    return { directory: this.directory, snapshotDirectory: this.snapshotDirectory };
  }

  async #start<Store extends StateStore | HistoryStore>(store: Store): Promise<Store> {
    this.#stores.push(store);
    await store.start();
    return store;
  }
}

/** A temperature sensor of the device before the slash. */
export function sensorInfo(id: string): SensorInfo {
  const [device = '', name = ''] = id.split('/');
  return { id: sensorId(id), device: parseDeviceId(device), name, kind: name, unit: '°C', title: name };
}

export function sensorId(id: string): SensorId {
  return parseSensorId(id);
}
