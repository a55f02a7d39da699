import '../matter-platform.ts';
import { mkdirSync } from 'node:fs';
import { DatafileRoot, type DataNamespace, ImplementationError, StorageDriver, type SupportedStorageTypes, toJson } from '@matter/main';
import { SqliteStorageDriver } from '@matter/nodejs';
import type { FileAnchor } from '../../core/storage/key-value-store.ts';
import { openMatterDatabase } from './matter-database.ts';

type Write = () => void;

/**
 * matter.js's sqlite driver with transactions that are written at once. Those of the driver (0.17.9) hold BEGIN over awaits on the
 * connection, so that a second one meanwhile fails with "Transaction is in progress" and its state is lost, and writes outside of any
 * transaction end with any transaction that is open.
 */
export class BatchStorageDriver extends SqliteStorageDriver {
  static override create(namespace: DataNamespace): Promise<BatchStorageDriver> {
    return openDriver(namespace);
  }

  /** The same driver, which reports its changes to an anchor. */
  static anchoredBy(anchor: FileAnchor): typeof BatchStorageDriver {
    return class extends BatchStorageDriver {
      static override create(namespace: DataNamespace): Promise<BatchStorageDriver> {
        return openDriver(namespace, anchor);
      }
    };
  }

  override begin(): BatchTransaction {
    return new BatchTransaction(this);
  }

  /** Sets a value that has matter.js's JSON form. */
  setText(contexts: string[], key: string, text: string): void {
    this.setValue(contexts, key, text);
  }

  /** All or none of the writes, with nothing between them. */
  applyTogether(writes: readonly Write[]): void {
    this.withAnyTransaction(() => {
      for (const write of writes) write();
    });
  }
}

/** Collects writes until the commit. Reads return committed values: matter.js never reads its writes within a transaction. */
class BatchTransaction extends StorageDriver.Transaction {
  readonly #driver: BatchStorageDriver;
  #writes: Write[] = [];

  constructor(driver: BatchStorageDriver) {
    super(driver);
    this.#driver = driver;
  }

  override set(contexts: string[], keyOrValues: string | Record<string, SupportedStorageTypes>, value?: SupportedStorageTypes): void {
    this.assertActive();
    const values = typeof keyOrValues === 'string' ? { [keyOrValues]: value ?? null } : keyOrValues;
    // Serialised now: the caller may change its objects before the commit.
    const texts = Object.entries(values).map(([key, member]) => [key, toJson(member ?? null)] as const);
    this.#writes.push(() => {
      for (const [key, text] of texts) this.#driver.setText(contexts, key, text);
    });
  }

  override delete(contexts: string[], key: string): void {
    this.assertActive();
    this.#writes.push(() => this.#driver.delete(contexts, key));
  }

  override clearAll(contexts: string[]): void {
    this.assertActive();
    this.#writes.push(() => this.#driver.clearAll(contexts));
  }

  override commit(): void {
    this.assertActive();
    this.#driver.applyTogether(this.#writes);
    super.commit();
  }

  override rollback(): void {
    this.#writes = [];
  }
}

async function openDriver(namespace: DataNamespace, anchor?: FileAnchor): Promise<BatchStorageDriver> {
  if (!(namespace instanceof DatafileRoot)) throw new ImplementationError('This storage needs a folder');
  mkdirSync(namespace.directory.path, { recursive: true });
  const databaseCreator = (path: string) => openMatterDatabase(path, anchor);
  const driver = new BatchStorageDriver({ databaseCreator, namespaceOrPath: namespace });
  await driver.initialize();
  return driver;
}
