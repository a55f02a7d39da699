import { browserName } from './installation.ts';
import type { PageWorker } from './page-worker.ts';
import type { PushBrowser } from './push.ts';

/** Returns the push messages of the browser that shows the page. */
export function pushBrowser(worker: Pick<PageWorker, 'registration'>): PushBrowser {
  return {
    manager: () => ('Notification' in window ? (worker.registration?.pushManager as ReturnType<PushBrowser['manager']>) : undefined),
    permission: () => Notification.permission,
    askPermission: () => Notification.requestPermission(),
    label: () => browserName(navigator),
  };
}
