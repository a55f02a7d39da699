import { loginOfJson } from './login.ts';
import { LOGIN_KEY, type LoginShelf } from './login-shelf.ts';

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
    load: async () => loginOfJson(JSON.stringify((await run('readonly', (store) => store.get(LOGIN_KEY))) ?? null)),
    save: async (login) => void (await run('readwrite', (store) => store.put(login, LOGIN_KEY))),
    clear: async () => void (await run('readwrite', (store) => store.delete(LOGIN_KEY))),
  };
}

function settled<Value>(request: IDBRequest<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
