/*
 * The service worker of the page: keeps the files of one build of the page for times without the hub, and shows notices that the hub sends.
 * It holds no token, keeps no answer of the API and decides nothing.
 */
import { notificationOf } from './push-message.ts';

/** The assets of this build, and a name for them. The build writes both in place of these names. */
declare const BUILT_FILES: readonly string[];
declare const BUILD_NAME: string;

/** The parts of the worker's scope that are used here. The types of the DOM, which the page needs, have no worker. */
interface WorkerScope {
  readonly location: { readonly origin: string };
  readonly navigator: { setAppBadge?(): Promise<void> };
  readonly clients: {
    claim(): Promise<void>;
    matchAll(options: { type: 'window'; includeUncontrolled: true }): Promise<readonly WindowClient[]>;
    openWindow(url: string): Promise<unknown>;
  };
  readonly registration: {
    showNotification(title: string, options: NotificationOptions & { renotify: boolean; data: string }): Promise<void>;
  };
  skipWaiting(): Promise<void>;
  addEventListener(type: 'install' | 'activate', listener: (event: WorkerEvent) => void): void;
  addEventListener(type: 'fetch', listener: (event: FetchEvent) => void): void;
  addEventListener(type: 'push', listener: (event: PushEvent) => void): void;
  addEventListener(type: 'notificationclick', listener: (event: ClickEvent) => void): void;
}

interface WorkerEvent {
  waitUntil(work: Promise<unknown>): void;
}

interface FetchEvent extends WorkerEvent {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}

interface PushEvent extends WorkerEvent {
  readonly data: { text(): string } | null;
}

interface ClickEvent extends WorkerEvent {
  readonly notification: { readonly data: unknown; close(): void };
}

interface WindowClient {
  readonly url: string;
  focus(): Promise<unknown>;
  postMessage(message: unknown): void;
}

const CACHE_PREFIX = 'atmosphere-';
const CACHE = `${CACHE_PREFIX}${BUILD_NAME}`;
const SHELL = '/';
const MANIFEST = '/manifest.webmanifest';
/** After so long without an answer the kept page is shown: a machine that is switched off answers nothing at all. */
const SHELL_LIMIT_MS = 2_500;

const worker = self as unknown as WorkerScope;

worker.addEventListener('install', (event) => event.waitUntil(install()));
worker.addEventListener('activate', (event) => event.waitUntil(activate()));
worker.addEventListener('fetch', (event) => {
  const { method, url } = event.request;
  const { origin, pathname } = new URL(url);
  if (method !== 'GET' || origin !== worker.location.origin) return;
  if (pathname === SHELL) event.respondWith(shell(event.request));
  else if (pathname === MANIFEST || BUILT_FILES.includes(pathname)) event.respondWith(kept(event.request));
});
worker.addEventListener('push', (event) => event.waitUntil(show(event.data?.text())));
worker.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const { data } = event.notification;
  event.waitUntil(open(typeof data === 'string' ? data : SHELL));
});

async function install(): Promise<void> {
  const cache = await caches.open(CACHE);
  // The assets have their content in their name; the two others are asked of the hub itself.
  await cache.addAll([...BUILT_FILES, ...[SHELL, MANIFEST].map((path) => new Request(path, { cache: 'reload' }))]);
  await worker.skipWaiting();
}

async function activate(): Promise<void> {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith(CACHE_PREFIX) && name !== CACHE).map((name) => caches.delete(name)));
  await worker.clients.claim();
}

/** Returns the shell from the hub, so that an update is seen at once, and the kept one if the hub does not answer. */
async function shell(request: Request): Promise<Response> {
  try {
    return await fetch(request, { signal: AbortSignal.timeout(SHELL_LIMIT_MS) });
  } catch {
    return kept(new Request(SHELL));
  }
}

async function kept(request: Request): Promise<Response> {
  const cache = await caches.open(CACHE);
  return (await cache.match(request, { ignoreVary: true })) ?? fetch(request);
}

async function show(content: string | undefined): Promise<void> {
  const { title, body, tag, path, isUrgent, isApproval } = notificationOf(content);
  if (isApproval) await worker.navigator.setAppBadge?.();
  await worker.registration.showNotification(title, { body, tag, renotify: isUrgent, requireInteraction: isUrgent, data: path });
}

/** Shows the page that a notification names: in a window that is there, or in a new one. Deciding is left to the page. */
async function open(path: string): Promise<void> {
  const [window] = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true });
  if (!window) {
    await worker.clients.openWindow(path);
    return;
  }
  window.postMessage({ open: path });
  await window.focus();
}
