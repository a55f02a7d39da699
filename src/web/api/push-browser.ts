import type { PageWorker } from './page-worker.ts';
import type { PushBrowser } from './push.ts';

/** Returns the push messages of the browser that shows the page. */
export function pushBrowser(worker: Pick<PageWorker, 'registration'>): PushBrowser {
  return {
    manager: () => ('Notification' in window ? (worker.registration?.pushManager as ReturnType<PushBrowser['manager']>) : undefined),
    permission: () => Notification.permission,
    askPermission: () => Notification.requestPermission(),
    label: () => browserName(navigator.userAgent),
  };
}

const BROWSERS = [
  ['Firefox', /Firefox\//],
  ['Edge', /Edg\//],
  ['Chrome', /Chrome\//],
  ['Safari', /Safari\//],
] as const;
const SYSTEMS = [
  ['Android', /Android/],
  ['iPhone', /iPhone/],
  ['iPad', /iPad/],
  ['Windows', /Windows/],
  ['Mac', /Mac OS/],
  ['Linux', /Linux/],
] as const;

/** Returns the name of a browser and its system, such as `Firefox, Android`, by which a person knows it in a list. */
export function browserName(agent: string): string {
  const nameIn = (names: readonly (readonly [string, RegExp])[]): string[] =>
    names.flatMap(([name, sign]) => (sign.test(agent) ? [name] : []));
  return [nameIn(BROWSERS)[0] ?? 'Browser', ...nameIn(SYSTEMS).slice(0, 1)].join(', ');
}
