import type { PageElementName } from './router.ts';

/** Loads the module that defines the element of a page. Each page is a file of its own, so that the first page is there soon. */
export const PAGE_MODULES: Readonly<Record<PageElementName, () => Promise<unknown>>> = {
  'atmo-page-activity': () => import('./pages/activity-page.ts'),
  'atmo-page-add-device': () => import('./pages/add-device-page.ts'),
  'atmo-page-agents': () => import('./pages/agents-page.ts'),
  'atmo-page-approvals': () => import('./pages/approvals-page.ts'),
  'atmo-page-authorize': () => import('./pages/authorize-page.ts'),
  'atmo-page-automation-editor': () => import('./pages/automation-editor-page.ts'),
  'atmo-page-automations': () => import('./pages/automations-page.ts'),
  'atmo-page-device': () => import('./pages/device-page.ts'),
  'atmo-page-events': () => import('./pages/events-page.ts'),
  'atmo-page-home': () => import('./pages/home-page.ts'),
  'atmo-page-mesh': () => import('./pages/mesh-page.ts'),
  'atmo-page-networks': () => import('./pages/networks-page.ts'),
  'atmo-page-notices': () => import('./pages/notices-page.ts'),
  'atmo-page-people': () => import('./pages/people-page.ts'),
  'atmo-page-this-device': () => import('./pages/this-device-page.ts'),
  'atmo-page-settings': () => import('./pages/settings-page.ts'),
  'atmo-page-tokens': () => import('./pages/tokens-page.ts'),
  'atmo-page-tools': () => import('./pages/tools-page.ts'),
};
