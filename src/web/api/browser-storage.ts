import { isJsonObject, tryParseJson } from '../../core/json.ts';
import { type Login, type LoginStorage, loginOf, STORAGE_KEY } from './session.ts';
import { isSigningKey, type SigningKey, signingKeyOf } from './signing-key.ts';

const TABLE = 'login';
const TAB_PREFIX = 'tab:';
/** Milliseconds for which the key of a tab is kept. The token of a link ends earlier, and no event says that a tab was closed. */
const TAB_KEY_MS = 24 * 3_600_000;

/** A database of the browser that can hold keys which nobody can export. */
class KeyDatabase {
  readonly #factory: IDBFactory;

  constructor(factory: IDBFactory) {
    this.#factory = factory;
  }

  async run<Value>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<Value>): Promise<Value> {
    const opening = this.#factory.open('atmosphere', 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(TABLE);
    const database = await requestResult(opening);
    try {
      return await requestResult(act(database.transaction(TABLE, mode).objectStore(TABLE)));
    } finally {
      database.close();
    }
  }

  get(key: string): Promise<unknown> {
    return this.run('readonly', (store) => store.get(key));
  }

  async put(key: string, value: object): Promise<void> {
    await this.run('readwrite', (store) => store.put(value, key));
  }

  async delete(key: string): Promise<void> {
    await this.run('readwrite', (store) => store.delete(key));
  }

  async keys(): Promise<readonly string[]> {
    return (await this.run('readonly', (store) => store.getAllKeys())).filter((key) => typeof key === 'string');
  }
}

/** Returns storage in IndexedDB that keeps the login until sign-out. A key is stored only if nobody can export it. */
export function browserStorage(factory: IDBFactory): LoginStorage {
  const database = new KeyDatabase(factory);
  return {
    load: async () => storedLogin(await database.get(STORAGE_KEY)),
    save: async (login) => database.put(STORAGE_KEY, await withoutSeed(login)),
    clear: () => database.delete(STORAGE_KEY),
  };
}

/**
 * Returns storage that holds the login until the tab is closed. The storage of a tab can hold only text, so the key is in IndexedDB, where
 * nobody can export it. Its name is in the tab. Where IndexedDB is not available, the key lasts until the page is loaded again.
 */
export function tabStorage(storage: Storage, factory: IDBFactory): LoginStorage {
  const database = new KeyDatabase(factory);
  const slotIn = (): string | undefined => {
    const value = tryParseJson(storage.getItem(STORAGE_KEY) ?? '');
    return isJsonObject(value) && typeof value.slot === 'string' ? value.slot : undefined;
  };
  const self: LoginStorage = {
    async load() {
      const login = loginOf(tryParseJson(storage.getItem(STORAGE_KEY) ?? ''));
      // A former version of this page stored the seed of the key as text.
      if (login?.key !== undefined) await self.save(login);
      const slot = slotIn();
      const kept = slot === undefined ? undefined : await database.get(slot).catch(() => undefined);
      const key = keyIn(kept);
      return login && key ? { ...login, key } : login;
    },
    async save(login) {
      const { key, ...rest } = await withoutSeed(login);
      const slot = `${TAB_PREFIX}${crypto.randomUUID()}`;
      const isKept = key !== undefined && (await keepForTab(database, slot, key));
      storage.setItem(STORAGE_KEY, JSON.stringify({ ...rest, ...(isKept && { slot }) }));
    },
    async clear() {
      const slot = slotIn();
      storage.removeItem(STORAGE_KEY);
      if (slot !== undefined) await database.delete(slot).catch(() => undefined);
    },
  };
  return self;
}

async function keepForTab(database: KeyDatabase, slot: string, key: SigningKey): Promise<boolean> {
  try {
    for (const old of await database.keys()) if (old.startsWith(TAB_PREFIX) && (await isOld(database, old))) await database.delete(old);
    await database.put(slot, { key, atMs: Date.now() });
    return true;
  } catch {
    return false;
  }
}

async function isOld(database: KeyDatabase, slot: string): Promise<boolean> {
  const value = await database.get(slot);
  const atMs = typeof value === 'object' && value !== null && 'atMs' in value ? Number(value.atMs) : 0;
  return Date.now() - atMs > TAB_KEY_MS;
}

/** Returns the login with a key that nobody can export, or without a key if the browser cannot make one of the seed. */
async function withoutSeed({ key, ...login }: Login): Promise<Omit<Login, 'key'> & { readonly key?: SigningKey }> {
  const kept = typeof key === 'string' ? await signingKeyOf(key) : key;
  return { ...login, ...(kept && { key: kept }) };
}

function storedLogin(value: unknown): Login | undefined {
  const login = loginOf(value);
  const key = keyIn(value);
  return login && key ? { ...login, key } : login;
}

function keyIn(value: unknown): SigningKey | undefined {
  return typeof value === 'object' && value !== null && 'key' in value && isSigningKey(value.key) ? value.key : undefined;
}

function requestResult<Value>(request: IDBRequest<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
