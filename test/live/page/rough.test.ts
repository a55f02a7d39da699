import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_HINT } from '../../../scripts/browser/chromium.ts';
import { HAS_CHROMIUM } from './chromium.ts';
import type { OpenPage } from './open-page.ts';
import { PageWorld } from './page-world.ts';

const LAMP = 'Hall light';
/** Names that want to be more than text: markup, a change of direction, control characters. */
const HOSTILE = '<img src=x onerror=alert(1)>';
const BIDI = '\u202Eteled lla\u202C';

describe.skipIf(!HAS_CHROMIUM)(`the page in rough weather${HAS_CHROMIUM ? '' : `: ${CHROMIUM_HINT}`}`, () => {
  let world: PageWorld;
  let opened: OpenPage;

  beforeAll(async () => {
    world = await PageWorld.start({ devices: [LAMP] });
    opened = await world.open();
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const rename = (name: string) => world.hub.result('hub:rename_device', { device_id: 'hall-light', name });
  const isOn = () => world.device(LAMP).get('light', 'OnOff', 'OnOff');
  const focused = () =>
    opened.page.evaluate("document.activeElement?.textContent?.trim() || document.activeElement?.getAttribute('aria-label')");

  /** Presses Tab until what has the focus says so. */
  async function tabTo(words: RegExp): Promise<void> {
    for (let press = 0; press < 60; press++) {
      await opened.page.keyboard.press('Tab');
      if (words.test(String(await focused()))) return;
    }
    expect.unreachable(`Tab never reaches ${words}`);
  }

  test('a tool is found and run with the keyboard alone, and the focus is always seen', async () => {
    await opened.show('home');
    await opened.page.keyboard.press('Tab');
    expect(await focused()).toContain('Skip to content');
    await tabTo(/^Tools$/);
    const outline = await opened.page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
    expect(outline).toBe('solid');
    await opened.page.keyboard.press('Enter');
    await opened.page.waitForURL(/#\/tools/);
    // Until the page is loaded, the search field is that of Home.
    await opened.page.getByRole('heading', { level: 1, name: 'Tools' }).waitFor();
    await opened.page.getByRole('searchbox').focus();
    await opened.page.keyboard.type('turn on the light in the hall');
    await opened.page.keyboard.press('Enter');
    // It may stand in the list of all tools before the answer to the words comes.
    const wanted = opened.page.getByRole('article').filter({ has: opened.page.getByText('hall_light_turn_on', { exact: true }) });
    await wanted.getByRole('meter').waitFor();
    for (let card = 0; card < 10; card++) {
      await tabTo(/^Try it$/);
      const isWanted = await opened.page.evaluate("document.activeElement.closest('article').textContent.includes('hall_light_turn_on')");
      if (isWanted) break;
    }
    await opened.page.keyboard.press('Enter');
    await tabTo(/^Run$/);
    expect(await isOn()).toBe(false);
    await opened.page.keyboard.press('Enter');
    await expect.poll(isOn).toBe(true);
  });

  test('names of devices are text and nothing else, on every page that shows them', async () => {
    await rename(`${HOSTILE}${BIDI}`);
    for (const route of ['home', 'devices/hall-light', 'tokens', 'activity']) {
      await opened.show(route);
      await opened.page.getByText('<img src=x onerror').first().waitFor({ state: 'attached' });
      expect(await opened.page.locator('main img').count(), route).toBe(0);
    }
    await opened.show('home');
    const shown = String(await opened.page.locator('main').textContent());
    expect(shown).toContain(HOSTILE);
    // A change of direction stays within the name, or never comes through.
    const isolated = await opened.page.evaluate(`[...document.querySelectorAll('main *')]
      .filter((element) => element.childElementCount === 0 && element.textContent.includes('\\u202E'))
      .every((element) => element.closest('bdi') !== null || getComputedStyle(element).unicodeBidi.includes('isolate'))`);
    expect(isolated).toBe(true);
    expect(opened.complaints).toEqual([]);
    await rename(LAMP);
  });

  test('the same in the log of events', async () => {
    await opened.show('events');
    await rename(HOSTILE);
    // A change that an earlier test made may still come in.
    await opened.page.getByLabel('Contains').fill('onerror');
    await opened.page.getByRole('list', { name: 'Events' }).getByText('device.changed').first().click();
    await opened.page.getByText('<img src=x onerror').first().waitFor();
    expect(await opened.page.locator('main img').count()).toBe(0);
    await opened.page.getByLabel('Contains').fill('');
    await rename(LAMP);
  });

  test('a home of 200 devices is shown whole, and stays usable', async () => {
    await using big = await world.open();
    const { devices } = (await world.hub.get('/api/v1/devices')) as { devices: readonly Record<string, unknown>[] };
    const many = Array.from({ length: 200 }, (_none, index) => ({
      ...devices[0],
      id: `lamp-${index}`,
      name: `Lamp ${index}`,
      area: `Room ${index % 20}`,
    }));
    await big.page.route('**/api/v1/devices', (route) => route.fulfill({ json: { devices: many } }));
    await big.page.reload();
    await big.show('home');
    await expect.poll(() => big.page.locator('atmo-home-tile').count()).toBe(200);
    await big.page.getByRole('button', { name: 'Room 7', exact: true }).click();
    await expect.poll(() => big.page.locator('atmo-home-tile').count()).toBe(10);
    expect(await big.overflowPixels()).toBe(0);
  });

  test('a hub that loses power and comes back is shown as it is, without a hand on the page', async () => {
    await opened.show('events');
    await opened.page.getByRole('button', { name: 'Clear' }).click();
    expect(opened.complaints.splice(0)).toEqual([]);
    await world.killHub();
    try {
      await opened.page.getByText('No connection').waitFor();
    } finally {
      await world.reviveHub();
    }
    await opened.page.getByText('Live', { exact: true }).waitFor();
    await world.device(LAMP).set('light', 'OnOff', 'OnOff', false);
    await opened.page.getByRole('list', { name: 'Events' }).getByText('hall-light/is_on').first().waitFor();
    const others = opened.complaints
      .splice(0)
      .filter((complaint) => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY|ERR_CONNECTION_RESET/.test(complaint));
    expect(others).toEqual([]);
  });

  test('a link that somebody else made signs in nobody who is signed in, and leaves the address', async () => {
    const { token } = await world.hub.result('hub:mint_token', { agent_id: 'spy', permissions: ['sensor:read:*'] });
    const login = Buffer.from(JSON.stringify({ token, person: 'mallory' })).toString('base64url');
    await using victim = await world.open();
    await victim.show('home');
    await victim.page.evaluate(`location.hash = 'login=${login}'`);
    const dialog = victim.page.getByRole('dialog', { name: 'Sign in as somebody else?' });
    await dialog.getByText('mallory').waitFor();
    expect(victim.page.url()).not.toContain('login=');
    await dialog.getByRole('button', { name: 'Stay as I am' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await victim.page.evaluate("Object.values(sessionStorage).join('')")).not.toContain(String(token));
    expect(victim.complaints).toEqual([]);
  });

  test('a token that is revoked while the page is open ends the session, and says why', async () => {
    const { token, token_id: id } = await world.hub.result('hub:mint_token', { agent_id: 'guest', permissions: ['sensor:read:*'] });
    await using guest = await world.open('phone', { token: String(token) });
    await guest.show('home');
    await world.hub.result('hub:revoke_token', { token_id: id ?? '' });
    await guest.page.getByText('The hub does not take this sign-in any more').waitFor();
    expect(await guest.page.getByLabel('Token or link').count()).toBe(1);
    expect(await guest.page.evaluate("Object.values(sessionStorage).join('')")).not.toContain(String(token));
  });
});
