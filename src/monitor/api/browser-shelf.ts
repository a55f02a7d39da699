import { isKeptKey, keptKeyOf } from './kept-key.ts';
import { type Login, loginOf } from './login.ts';
import { LOGIN_KEY, type LoginShelf } from './login-shelf.ts';

/** For this browser until somebody signs out: IndexedDB, of this origin alone. Seeds become keys that nobody can read out. */
export function browserShelf(factory: IDBFactory): LoginShelf {
  const shelf = 'login';
  const run = async <Value>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<Value>): Promise<Value> => {
    const opening = factory.open('atmosphere', 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(shelf);
    const database = await settled(opening);
    try {
      return await settled(act(database.transaction(shelf, mode).objectStore(shelf)));
    } finally {
      database.close();
    }
  };
  return {
    load: async () => keptLogin(await run('readonly', (store) => store.get(LOGIN_KEY))),
    save: async (login) => {
      const kept = typeof login.key === 'string' ? await keptKeyOf(login.key) : undefined;
      await run('readwrite', (store) => store.put({ ...login, ...(kept && { key: kept }) }, LOGIN_KEY));
    },
    clear: async () => void (await run('readwrite', (store) => store.delete(LOGIN_KEY))),
  };
}

function keptLogin(value: unknown): Login | undefined {
  const login = loginOf(value);
  const key = typeof value === 'object' && value !== null && 'key' in value && isKeptKey(value.key) ? value.key : undefined;
  return login && key ? { ...login, key } : login;
}

function settled<Value>(request: IDBRequest<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
