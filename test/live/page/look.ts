import type { BrowserContextOptions } from 'playwright-core';

const DESKTOP = { width: 1280, height: 800 };
// The narrowest phones that are sold.
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true } as const;

/** The ways in which every page is looked at. */
export const LOOKS = {
  light: { colorScheme: 'light', viewport: DESKTOP },
  dark: { colorScheme: 'dark', viewport: DESKTOP },
  phone: { colorScheme: 'light', ...PHONE },
  'phone-dark': { colorScheme: 'dark', ...PHONE },
} as const satisfies Record<string, BrowserContextOptions>;
export type Look = keyof typeof LOOKS;
/** The names of all. */
export const LOOK_NAMES = Object.keys(LOOKS) as readonly Look[];
