import { join } from 'node:path';
import { systemClock } from '../../src/core/clock.ts';
import { EventBus } from '../../src/core/events.ts';
import { isJsonObject, type Json } from '../../src/core/json.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { KeyValueStore } from '../../src/core/storage/key-value-store.ts';
import { StateStore } from '../../src/storage/state-store.ts';
import { CommissioningHub } from '../matter/commissioning-hub.ts';
import { journalParts } from '../storage/storage-services.ts';

/** State on the disk in the way that a hub keeps it. */
export function stateStore(directory: string): StateStore {
  const events = new EventBus('test', systemClock);
  return new StateStore(
    { clock: systemClock, logger: silentLogger, events, ...journalParts(directory) },
    { directory, snapshotDirectory: join(directory, 'state-snapshots') },
  );
}

/** A store that hands every written stage to `onStage` once it is on the disk. */
class ToldStore implements KeyValueStore {
  readonly #store: KeyValueStore;
  readonly #onStage: (stage: string) => void;

  constructor(store: KeyValueStore, onStage: (stage: string) => void) {
    this.#store = store;
    this.#onStage = onStage;
  }

  get(space: string, key: string): Json | undefined {
    return this.#store.get(space, key);
  }

  set(space: string, key: string, value: Json): void {
    this.#store.set(space, key, value);
    if (isJsonObject(value) && typeof value.stage === 'string') this.#onStage(value.stage);
  }

  delete(space: string, key: string): boolean {
    return this.#store.delete(space, key);
  }

  entries(space: string): readonly { readonly key: string; readonly value: Json }[] {
    return this.#store.entries(space);
  }
}

/** The kernel ends the process before anything else happens, as a power cut would. */
function die(): never {
  process.kill(process.pid, 'SIGKILL');
  for (;;);
}

async function main([directory = '', code = '', killAt = '', delayMs = '0']: readonly string[]): Promise<void> {
  const reached = (point: string): void => {
    if (point !== killAt) return;
    if (delayMs === '0') die();
    setTimeout(die, Number(delayMs));
  };
  const store = stateStore(directory);
  await store.start();
  const told = new ToldStore(store, (stage) => reached(`stage ${stage}`));
  const hub = new CommissioningHub({ stateDir: join(directory, 'matter'), store: told });
  await hub.start();
  const outcome = await hub.commission({ code, name: killAt }, ({ step, note }) => reached(`${step}: ${note}`));
  process.stdout.write(`${'error' in outcome ? outcome.error.message : 'commissioned'}\n`);
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  process.exit(1);
}

if (import.meta.filename === process.argv[1]) await main(process.argv.slice(2));
