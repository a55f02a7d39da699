import { Observable } from './api/observable.ts';
import { PAGES, type Page } from './pages.ts';
import { matchRoute, type RouteParams } from './route-match.ts';

/** What the address asks for. */
export interface Place {
  readonly page: Page;
  readonly params: RouteParams;
}

/** Follows the part of the address behind `#`; `#/devices/lamp` is the page of the route `devices/:id`. */
export class Router extends Observable {
  readonly #window: Window;
  #place: Place | undefined;

  constructor(page: Window) {
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

  /** The same without an entry in the history. */
  replace(path: string): void {
    this.#window.history.replaceState(null, '', `#/${path}`);
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
