import { type Login, type LoginStorage, loginOf, STORAGE_KEY } from './session.ts';
import { isSigningKey, signingKeyOf } from './signing-key.ts';

/** Returns storage in IndexedDB that keeps the login until sign-out. If Ed25519 is supported, a seed is stored as a non-extractable key. */
export function browserStorage(factory: IDBFactory): LoginStorage {
  const table = 'login';
  const run = async <Value>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<Value>): Promise<Value> => {
    const opening = factory.open('atmosphere', 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(table);
    const database = await requestResult(opening);
    try {
      return await requestResult(act(database.transaction(table, mode).objectStore(table)));
    } finally {
      database.close();
    }
  };
  return {
    load: async () => storedLogin(await run('readonly', (store) => store.get(STORAGE_KEY))),
    save: async (login) => {
      const kept = typeof login.key === 'string' ? await signingKeyOf(login.key) : undefined;
      await run('readwrite', (store) => store.put({ ...login, ...(kept && { key: kept }) }, STORAGE_KEY));
    },
    clear: async () => void (await run('readwrite', (store) => store.delete(STORAGE_KEY))),
  };
}

function storedLogin(value: unknown): Login | undefined {
  const login = loginOf(value);
  const key = typeof value === 'object' && value !== null && 'key' in value && isSigningKey(value.key) ? value.key : undefined;
  return login && key ? { ...login, key } : login;
}

function requestResult<Value>(request: IDBRequest<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
