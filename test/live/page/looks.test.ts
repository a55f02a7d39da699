import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_HINT } from '../../../scripts/browser/chromium.ts';
import { PAGES } from '../../../src/web/router.ts';
import { HAS_CHROMIUM } from './chromium.ts';
import { DIALOGS } from './dialogs.ts';
import { furnishedWorld, invitationOf, requestOf } from './furnished-world.ts';
import { LOOK_NAMES, type Look } from './look.ts';
import type { OpenPage } from './open-page.ts';
import type { PageWorld } from './page-world.ts';
import { ARE_PICTURES_KEPT, keepPicture } from './pictures.ts';
import { LOCALES, SPOKEN, type Spoken, wordsIn } from './spoken.ts';

/** Addresses of the pages that have a parameter, and of what a page shows beside its first view. */
const ADDRESSES: Readonly<Record<string, string>> = {
  'devices/:id': 'devices/thermostat',
  tools: 'tools?q=make%20the%20living%20room%20bright',
  'automations/:id': 'automations/evening',
  'authorize-device': 'authorize-device?user_code=WDJB-MJHT',
};
const REQUEST = 'authorize/:query';
const PEOPLE = ['owner', 'child'] as const;
/**
 * Colours do not depend on the language, nor words on the colours: each is looked at on the desk and on the phone, but not each with each.
 * Pictures are made of all.
 */
const LOOKS_IN: Readonly<Record<Spoken, readonly Look[]>> = ARE_PICTURES_KEPT
  ? { en: LOOK_NAMES, de: LOOK_NAMES }
  : { en: ['light', 'phone-dark'], de: ['phone', 'dark'] };
/** Ten devices join one after the other before the first page is looked at. */
const SETUP_LIMIT_MS = 300_000;
/** A browser complains of each request that the hub refuses; a child may not ask for everything that a page can show. */
const REFUSED = /status of 40[34]/;

describe.skipIf(!HAS_CHROMIUM)(`the page${HAS_CHROMIUM ? '' : `: ${CHROMIUM_HINT}`}`, () => {
  let world: PageWorld;
  /** Address of the page with the request of an application. */
  let request: string;
  const opened = new Map<string, OpenPage>();

  beforeAll(async () => {
    world = await furnishedWorld();
    request = await requestOf(world);
    for (const language of SPOKEN) {
      opened.set(`owner ${language}`, await world.open('light', world.ownerLogin(), LOCALES[language]));
      opened.set(`child ${language}`, await openAsChild(language));
    }
  }, SETUP_LIMIT_MS);
  afterAll(async () => {
    for (const page of opened.values()) await page[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  async function openAsChild(language: Spoken): Promise<OpenPage> {
    const say = wordsIn(language);
    const child = await world.openSignedOut('light', LOCALES[language]);
    await child.page.goto(`${world.hub.url}/#invite=${await invitationOf(world, 'tim')}`);
    await child.page.getByRole('button', { name: say('sign_in.accept') }).click();
    await child.page.getByRole('navigation').waitFor();
    return child;
  }

  /** Looks at what the page shows, in each look. */
  async function lookAt(page: OpenPage, name: string | undefined, looks: readonly Look[]): Promise<void> {
    for (const look of looks) {
      await page.wear(look);
      expect.soft(await page.barriers(), look).toEqual([]);
      expect.soft(await page.overflowPixels(), look).toBe(0);
      if (name !== undefined) await keepPicture(page, name.replace('LOOK', look));
    }
    await page.wear('light');
  }

  const views = PEOPLE.flatMap((person) => PAGES.flatMap(({ route }) => SPOKEN.map((language) => ({ route, person, language }))));
  test.for(views)('$route is there without a barrier for the $person in $language', async ({ route, person, language }, { expect }) => {
    const page = opened.get(`${person} ${language}`) ?? expect.unreachable();
    await page.show(route === REQUEST ? request : (ADDRESSES[route] ?? route));
    expect(await page.page.locator('h1').count()).toBe(1);
    const name = person === 'owner' && route !== 'approvals/:id' ? `${route.split('/')[0]}-LOOK-${language}` : undefined;
    await lookAt(page, name, person === 'owner' ? LOOKS_IN[language] : LOOKS_IN[language].slice(0, 1));
    const complaints = page.complaints.splice(0);
    expect(person === 'owner' ? complaints : complaints.filter((one) => !REFUSED.test(one))).toEqual([]);
  });

  const dialogs = DIALOGS.flatMap((dialog) => SPOKEN.map((language) => ({ ...dialog, language })));
  test.for(dialogs)('the dialog $name has no barrier in $language', async ({ name, route, isOnPhone, open, language }, { expect }) => {
    const page = opened.get(`owner ${language}`) ?? expect.unreachable();
    await page.wear(isOnPhone ? 'phone' : 'light');
    await page.show('events');
    await page.show(route);
    await open(page, wordsIn(language));
    const dialog = page.page.getByRole('dialog');
    await dialog.waitFor();
    const isFocused = "document.querySelector('dialog:modal')?.contains(document.activeElement)";
    expect(await page.page.evaluate(isFocused)).toBe(true);
    await lookAt(
      page,
      `${name}-LOOK-${language}`,
      LOOKS_IN[language].filter((look) => !isOnPhone || look.startsWith('phone')),
    );
    await page.page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(page.complaints.splice(0)).toEqual([]);
  });

  test.for(SPOKEN)('whoever is not signed in is asked for a token in %s', async (language, { expect }) => {
    await using page = await world.openSignedOut('light', LOCALES[language]);
    await lookAt(page, `sign-in-LOOK-${language}`, LOOKS_IN[language]);
    expect(page.complaints).toEqual([]);
  });

  test('the check itself finds a barrier, an element that is too wide, and what the policy refuses', async () => {
    await using page = await world.open('phone');
    await page.page.evaluate(`{
      const image = document.createElement('img');
      image.width = 2000;
      // Not in what the page draws, which may be drawn anew at any time.
      document.body.append(image);
      const script = document.createElement('script');
      try { script.src = 'https://example.org/evil.js'; } catch {}
      const frame = document.createElement('iframe');
      frame.src = 'https://example.org/';
      document.body.append(frame);
    }`);
    expect((await page.barriers()).join()).toContain('image-alt');
    expect(await page.overflowPixels()).toBeGreaterThan(1_000);
    await expect.poll(() => page.complaints.join()).toContain('Content Security Policy');
  });
});
