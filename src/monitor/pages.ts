import type { IconName } from './parts/icon.ts';

/** One page of the monitor. */
export interface Page {
  /** Path behind `#/`; `:name` stands for a parameter. */
  readonly route: string;
  readonly title: string;
  readonly icon: IconName;
  /** Custom element that shows it: a `PageElement`, defined by the module that page-elements.ts names. */
  readonly element: string;
  /** Where it stands in the navigation: always in sight, behind "More" on phones, or nowhere. */
  readonly place: 'main' | 'more' | 'none';
}

/** Every page, in the order of the navigation. */
export const PAGES: readonly Page[] = [
  { route: 'home', title: 'Home', icon: 'home', element: 'atmo-page-home', place: 'main' },
  {
    route: 'approvals',
    title: 'Approvals',
    icon: 'shield',
    element: 'atmo-page-approvals',
    place: 'main',
  },
  {
    route: 'devices/:id',
    title: 'Device',
    icon: 'home',
    element: 'atmo-page-device',
    place: 'none',
  },
  {
    route: 'tools',
    title: 'Tools',
    icon: 'tools',
    element: 'atmo-page-tools',
    place: 'main',
  },
  {
    route: 'add-device',
    title: 'Add a device',
    icon: 'plus',
    element: 'atmo-page-add-device',
    place: 'more',
  },
  {
    route: 'activity',
    title: 'Activity',
    icon: 'activity',
    element: 'atmo-page-activity',
    place: 'more',
  },
  {
    route: 'agents',
    title: 'Agents',
    icon: 'agent',
    element: 'atmo-page-agents',
    place: 'more',
  },
  {
    route: 'tokens',
    title: 'Tokens',
    icon: 'key',
    element: 'atmo-page-tokens',
    place: 'more',
  },
  {
    route: 'mesh',
    title: 'Mesh',
    icon: 'mesh',
    element: 'atmo-page-mesh',
    place: 'more',
  },
  {
    route: 'networks',
    title: 'Networks',
    icon: 'waves',
    element: 'atmo-page-networks',
    place: 'more',
  },
  {
    route: 'events',
    title: 'Events',
    icon: 'list',
    element: 'atmo-page-events',
    place: 'more',
  },
];
