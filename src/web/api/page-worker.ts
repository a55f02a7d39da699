import { Observable } from './observable.ts';

/**
 * Whether this browser can keep the page and be reached by it. `insecure`: the page came over plain HTTP; `untrusted`: the browser does not
 * trust the certificate; `unsupported`: the browser has no service workers, for example in a private window.
 */
export type WorkerSupport = 'starting' | 'ready' | 'insecure' | 'untrusted' | 'unsupported';

const SCRIPT = '/service-worker.js';

interface PageWorkerParts {
  /** Called with the fragment of a page, such as `#/approvals/ap-1`, when a person has chosen a notification. */
  open(fragment: string): void;
  /** Returns whether the page holds something that a reload would lose, such as a link that was opened and not answered yet. */
  isBusy(): boolean;
}

/** Registers the service worker of the page, and follows its updates and its notifications. */
export class PageWorker extends Observable {
  readonly #parts: PageWorkerParts;
  #support: WorkerSupport = 'starting';
  #registration: ServiceWorkerRegistration | undefined;
  #isOutdated = false;
  /** True if something was typed since the page was opened or went on to another view. */
  #isTyped = false;

  constructor(parts: PageWorkerParts) {
    super();
    this.#parts = parts;
  }

  get support(): WorkerSupport {
    return this.#support;
  }

  /** The registration, for push messages; undefined while the worker is not ready. */
  get registration(): ServiceWorkerRegistration | undefined {
    return this.#registration;
  }

  /** True once the hub has a newer build than the one that is shown. */
  get isOutdated(): boolean {
    return this.#isOutdated;
  }

  /** Registers the worker. Never rejects: without a worker the page works as long as the hub answers. */
  async start(): Promise<void> {
    document.addEventListener('input', () => {
      this.#isTyped = true;
    });
    document.addEventListener('visibilitychange', () => this.#reloadIfUnseen());
    this.#settle(await this.#register());
  }

  /** Asks the hub whether it has a newer build of the page. Called when the hub is back, since it may have been updated. */
  checkForUpdate(): void {
    this.#registration?.update().catch(() => undefined);
  }

  /** Called when the page changes its view: the text typed in the old view is gone. Loads the newest build if there is one. */
  onNavigated(): void {
    this.#isTyped = false;
    this.#reloadIfIdle();
  }

  /** Loads the newest build while nobody sees the page, unless somebody has typed something into it and may come back to it. */
  #reloadIfUnseen(): void {
    if (document.hidden && !this.#isTyped) this.#reloadIfIdle();
  }

  #reloadIfIdle(): void {
    if (this.#isOutdated && !this.#parts.isBusy()) location.reload();
  }

  async #register(): Promise<WorkerSupport> {
    if (!isSecureContext) return 'insecure';
    if (!('serviceWorker' in navigator)) return 'unsupported';
    const { serviceWorker } = navigator;
    // The first worker of a browser has the same build as the page. Each further one has a newer build.
    let hasWorker = serviceWorker.controller !== null;
    serviceWorker.addEventListener('controllerchange', () => {
      this.#isOutdated = hasWorker;
      hasWorker = true;
      this.changed();
      this.#reloadIfUnseen();
    });
    serviceWorker.addEventListener('message', ({ data }) => this.#onMessage(data));
    try {
      this.#registration = await serviceWorker.register(scriptUrl(), { updateViaCache: 'none' });
      await serviceWorker.ready;
      return 'ready';
    } catch {
      return location.protocol === 'https:' ? 'untrusted' : 'unsupported';
    }
  }

  #onMessage(data: unknown): void {
    const path = typeof data === 'object' && data !== null && 'open' in data ? data.open : undefined;
    const fragment = typeof path === 'string' ? path.slice(path.indexOf('#')) : '';
    if (fragment.startsWith('#/')) this.#parts.open(fragment);
  }

  #settle(support: WorkerSupport): void {
    this.#support = support;
    this.changed();
  }
}

/** The parts of Trusted Types that are used here. TypeScript's DOM does not have them. */
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
}

/** Returns the address of the worker as the policy of the page demands it. The policy makes this address alone, whatever it is asked for. */
function scriptUrl(): string {
  const { trustedTypes } = window as { readonly trustedTypes?: TrustedTypes };
  return trustedTypes?.createPolicy('service-worker', { createScriptURL: () => SCRIPT }).createScriptURL(SCRIPT) ?? SCRIPT;
}
