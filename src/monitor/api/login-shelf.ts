import { type Login, loginOfJson } from './login.ts';

/** Port: where a login outlives a reload. */
export interface LoginShelf {
  load(): Promise<Login | undefined>;
  save(login: Login): Promise<void>;
  clear(): Promise<void>;
}

/** Under which name a login lies on any shelf. */
export const LOGIN_KEY = 'atmosphere-login';

/** For this tab until it is closed. */
export function tabShelf(storage: Storage): LoginShelf {
  return {
    load: async () => loginOfJson(storage.getItem(LOGIN_KEY) ?? ''),
    save: async (login) => storage.setItem(LOGIN_KEY, JSON.stringify(login)),
    clear: async () => storage.removeItem(LOGIN_KEY),
  };
}
