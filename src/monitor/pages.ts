import type { IconName } from './parts/icon.ts';

/** One page of the monitor. */
export interface Page {
  /** Path behind `#/`; `:name` stands for a parameter. */
  readonly route: string;
  readonly title: string;
  readonly icon: IconName;
  /** Custom element that shows it: a `PageElement`. */
  readonly element: string;
  /** Where it stands in the navigation: always in sight, behind "More" on phones, or nowhere. */
  readonly place: 'main' | 'more' | 'none';
  /** Defines the element. */
  readonly load: () => Promise<unknown>;
}

/** Every page, in the order of the navigation. */
export const PAGES: readonly Page[] = [
  { route: 'home', title: 'Home', icon: 'home', element: 'atmo-page-home', place: 'main', load: () => import('./pages/home/home-page.ts') },
  {
    route: 'approvals',
    title: 'Approvals',
    icon: 'shield',
    element: 'atmo-page-approvals',
    place: 'main',
    load: () => import('./pages/approvals/approvals-page.ts'),
  },
  {
    route: 'devices/:id',
    title: 'Device',
    icon: 'home',
    element: 'atmo-page-device',
    place: 'none',
    load: () => import('./pages/device/device-page.ts'),
  },
];
