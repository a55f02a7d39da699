import { Observable } from './api/observable.ts';
import type { IconName } from './components/icon.ts';
import type { TextKey } from './texts/text.ts';

/** A page that a URL can open. */
export interface Page {
  /** Path after `#/`. `:name` stands for a parameter. */
  readonly route: string;
  readonly title: TextKey;
  readonly icon: IconName;
  /** Name of the page's custom element. The element extends `PageElement`, and page-modules.ts loads its module. */
  readonly element: `atmo-page-${string}`;
  /** `main` pages are always in the navigation. On phones, `more` pages are under "More". `none` pages are not in the navigation. */
  readonly place: 'main' | 'more' | 'none';
}

const ROUTES = [
  { route: 'home', title: 'home.title', icon: 'home', element: 'atmo-page-home', place: 'main' },
  { route: 'approvals', title: 'approvals.title', icon: 'shield', element: 'atmo-page-approvals', place: 'main' },
  { route: 'approvals/:id', title: 'approvals.title', icon: 'shield', element: 'atmo-page-approvals', place: 'none' },
  { route: 'devices/:id', title: 'devices.title', icon: 'home', element: 'atmo-page-device', place: 'none' },
  { route: 'notices', title: 'notices.title', icon: 'bell', element: 'atmo-page-notices', place: 'main' },
  { route: 'tools', title: 'tools.title', icon: 'tools', element: 'atmo-page-tools', place: 'more' },
  { route: 'add-device', title: 'add_device.title', icon: 'plus', element: 'atmo-page-add-device', place: 'more' },
  { route: 'activity', title: 'activity.title', icon: 'activity', element: 'atmo-page-activity', place: 'more' },
  { route: 'people', title: 'people.title', icon: 'people', element: 'atmo-page-people', place: 'more' },
  { route: 'automations', title: 'automations.title', icon: 'sparkle', element: 'atmo-page-automations', place: 'more' },
  { route: 'automations/:id', title: 'editor.edit', icon: 'sparkle', element: 'atmo-page-automation-editor', place: 'none' },
  { route: 'new-automation', title: 'editor.new', icon: 'sparkle', element: 'atmo-page-automation-editor', place: 'none' },
  { route: 'agents', title: 'agents.title', icon: 'agent', element: 'atmo-page-agents', place: 'more' },
  { route: 'tokens', title: 'tokens.title', icon: 'key', element: 'atmo-page-tokens', place: 'more' },
  { route: 'mesh', title: 'mesh.title', icon: 'mesh', element: 'atmo-page-mesh', place: 'more' },
  { route: 'networks', title: 'networks.title', icon: 'waves', element: 'atmo-page-networks', place: 'more' },
  { route: 'events', title: 'events.title', icon: 'list', element: 'atmo-page-events', place: 'more' },
  { route: 'this-device', title: 'this_device.title', icon: 'phone', element: 'atmo-page-this-device', place: 'more' },
  { route: 'settings', title: 'settings.title', icon: 'gauge', element: 'atmo-page-settings', place: 'more' },
  { route: 'authorize/:query', title: 'authorize.title', icon: 'key', element: 'atmo-page-authorize', place: 'none' },
  { route: 'authorize-device', title: 'authorize.title', icon: 'key', element: 'atmo-page-authorize', place: 'none' },
] as const satisfies readonly Page[];
/** All pages, in the order of the navigation. */
export const PAGES: readonly (Page & { readonly element: PageElementName })[] = ROUTES;

/** The name of the element of a page. */
export type PageElementName = (typeof ROUTES)[number]['element'];

/** The page that the URL names. */
export interface CurrentPage {
  readonly page: (typeof PAGES)[number];
  readonly params: RouteParams;
}

/** The parts of a browser's window that the router uses. */
export interface AddressWindow {
  readonly location: { hash: string };
  readonly history: { replaceState(data: null, unused: string, url: string): void };
  addEventListener(type: 'hashchange', listener: () => void): void;
}

/** Holds the page that the URL's fragment names. For example, `#/devices/lamp` names the page with the route `devices/:id`. */
export class Router extends Observable {
  readonly #window: AddressWindow;
  #place: CurrentPage | undefined;
  /** The fragment of the current page. */
  #hash = '';
  #ask: ((leave: () => void) => void) | undefined;

  constructor(page: AddressWindow) {
    super();
    this.#window = page;
  }

  /** The current page; undefined if the URL names no page, for example at the start. */
  get place(): CurrentPage | undefined {
    return this.#place;
  }

  start(): void {
    this.#window.addEventListener('hashchange', () => this.#read());
    this.#read();
  }

  /** Opens a page such as `devices/lamp`. */
  go(path: string): void {
    this.#window.location.hash = `#/${path}`;
  }

  /**
   * Keeps the current page, which has something that is not saved: when the URL names another page, calls `ask` with the function that opens that
   * page. Returns a function that ends this.
   */
  hold(ask: (leave: () => void) => void): () => void {
    this.#ask = ask;
    return () => {
      if (this.#ask === ask) this.#ask = undefined;
    };
  }

  /** If the URL names no page, opens `path` without a history entry. Checks the URL: `place` follows the URL only after a `hashchange`. */
  begin(path: string): void {
    if (!pageAt(this.#window.location.hash)) this.#window.history.replaceState(null, '', `#/${path}`);
    this.#read();
  }

  #read(): void {
    const { hash } = this.#window.location;
    if (this.#ask && hash !== this.#hash) this.#askBefore(hash, this.#ask);
    else this.#open(hash);
  }

  #open(hash: string): void {
    this.#hash = hash;
    this.#place = pageAt(hash);
    this.changed();
  }

  #askBefore(hash: string, ask: (leave: () => void) => void): void {
    this.#window.history.replaceState(null, '', this.#hash);
    ask(() => {
      this.#ask = undefined;
      this.#window.location.hash = hash;
    });
  }
}

function pageAt(hash: string): CurrentPage | undefined {
  for (const page of PAGES) {
    const params = matchRoute(page.route, hash);
    if (params) return { page, params };
  }
  return undefined;
}

/** The values of the `:name` parameters in the route, and the values of the URL's query parameters. */
export type RouteParams = Readonly<Record<string, string>>;

/** Returns the parameters in a fragment such as `#/devices/lamp?tab=raw`. Returns undefined if the fragment does not match the route. */
export function matchRoute(route: string, hash: string): RouteParams | undefined {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const wanted = route.split('/');
  const given = path.split('/').filter((part) => part !== '');
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = Object.fromEntries(new URLSearchParams(query));
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? '';
    if (part.startsWith(':')) params[part.slice(1)] = decoded(value);
    else if (part !== value) return undefined;
  }
  return params;
}

/**
 * Returns the fragment of the page for a path at which the hub serves the page too: `/oauth/authorize` and `/oauth/device`. Undefined for other
 * paths. The query of `/oauth/authorize` becomes one parameter with its question mark, so that the hub gets it as the application wrote it.
 */
export function fragmentOfPath({ pathname, search }: { readonly pathname: string; readonly search: string }): string | undefined {
  if (pathname === '/oauth/authorize') return `#/authorize/${encodeURIComponent(search || '?')}`;
  return pathname === '/oauth/device' ? `#/authorize-device${search}` : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns the title of the browser tab. If requests wait, the title begins with their number, so that a person sees it from other tabs. */
export function titleOf(waiting: number, page: string | undefined): string {
  const name = page === undefined ? 'Atmosphere' : `${page} · Atmosphere`;
  return waiting > 0 ? `(${waiting}) ${name}` : name;
}
