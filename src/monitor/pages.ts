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
  {
    route: 'tools',
    title: 'Tools',
    icon: 'tools',
    element: 'atmo-page-tools',
    place: 'main',
    load: () => import('./pages/tools/tools-page.ts'),
  },
  {
    route: 'add-device',
    title: 'Add a device',
    icon: 'plus',
    element: 'atmo-page-add-device',
    place: 'more',
    load: () => import('./pages/add-device/add-device-page.ts'),
  },
  {
    route: 'activity',
    title: 'Activity',
    icon: 'activity',
    element: 'atmo-page-activity',
    place: 'more',
    load: () => import('./pages/activity/activity-page.ts'),
  },
  {
    route: 'agents',
    title: 'Connect an agent',
    icon: 'agent',
    element: 'atmo-page-agents',
    place: 'more',
    load: () => import('./pages/agents/agents-page.ts'),
  },
  {
    route: 'tokens',
    title: 'Tokens',
    icon: 'key',
    element: 'atmo-page-tokens',
    place: 'more',
    load: () => import('./pages/tokens/tokens-page.ts'),
  },
  {
    route: 'mesh',
    title: 'Mesh',
    icon: 'mesh',
    element: 'atmo-page-mesh',
    place: 'more',
    load: () => import('./pages/mesh/mesh-page.ts'),
  },
  {
    route: 'events',
    title: 'Events',
    icon: 'list',
    element: 'atmo-page-events',
    place: 'more',
    load: () => import('./pages/events/events-page.ts'),
  },
];
