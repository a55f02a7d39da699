import { type Login, loginOfJson } from './login.ts';

/** Port: where a login outlives a reload. */
export interface LoginShelf {
  load(): Promise<Login | undefined>;
  save(login: Login): Promise<void>;
  clear(): Promise<void>;
}

const KEY = 'atmosphere-login';

/** For this tab until it is closed. */
export function tabShelf(storage: Storage): LoginShelf {
  return {
    load: async () => loginOfJson(storage.getItem(KEY) ?? ''),
    save: async (login) => storage.setItem(KEY, JSON.stringify(login)),
    clear: async () => storage.removeItem(KEY),
  };
}

/** For this browser until somebody signs out: IndexedDB, of this origin alone. */
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
    load: async () => loginOfJson(JSON.stringify((await run('readonly', (store) => store.get(KEY))) ?? null)),
    save: async (login) => void (await run('readwrite', (store) => store.put(login, KEY))),
    clear: async () => void (await run('readwrite', (store) => store.delete(KEY))),
  };
}

function settled<Value>(request: IDBRequest<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
