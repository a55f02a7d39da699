import { Observable } from './api/observable.ts';
import { PAGES, type Page } from './pages.ts';
import { matchRoute, type RouteParams } from './route-match.ts';

/** What the address asks for. */
export interface Place {
  readonly page: Page;
  readonly params: RouteParams;
}

/** What the router needs of a browser's window. */
export interface AddressWindow {
  readonly location: { hash: string };
  readonly history: { replaceState(data: null, unused: string, url: string): void };
  addEventListener(type: 'hashchange', listener: () => void): void;
}

/** Follows the part of the address behind `#`; `#/devices/lamp` is the page of the route `devices/:id`. */
export class Router extends Observable {
  readonly #window: AddressWindow;
  #place: Place | undefined;

  constructor(page: AddressWindow) {
    super();
    this.#window = page;
  }

  /** Undefined when the address names no page, as at the beginning. */
  get place(): Place | undefined {
    return this.#place;
  }

  start(): void {
    this.#window.addEventListener('hashchange', () => this.#read());
    this.#read();
  }

  /** Goes to a page such as `devices/lamp`. */
  go(path: string): void {
    this.#window.location.hash = `#/${path}`;
  }

  /** Goes to a page where the address names none, without an entry in the history. The event about a new address may be on its way. */
  begin(path: string): void {
    if (!placeOf(this.#window.location.hash)) this.#window.history.replaceState(null, '', `#/${path}`);
    this.#read();
  }

  #read(): void {
    this.#place = placeOf(this.#window.location.hash);
    this.changed();
  }
}

function placeOf(hash: string): Place | undefined {
  for (const page of PAGES) {
    const params = matchRoute(page.route, hash);
    if (params) return { page, params };
  }
  return undefined;
}
