import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_HINT } from '../../../scripts/browser/chromium.ts';
import { WHOLE_HOME } from '../../web/whole-home.ts';
import { HAS_CHROMIUM } from './chromium.ts';
import type { OpenPage } from './open-page.ts';
import { PageWorld } from './page-world.ts';

const LAMPS = ['Living room lamp', 'Hall light', 'Kitchen ceiling', 'Bedroom lamp'] as const;
const BLIND = 'Bedroom blind';
const DOOR = 'Front door';
/** A phone of the usual size, on which sixty devices take at most three screens. */
const PHONE = { width: 390, height: 844 };
const SCREENS = 3;

describe.skipIf(!HAS_CHROMIUM)(`home, as a household uses it${HAS_CHROMIUM ? '' : `: ${CHROMIUM_HINT}`}`, () => {
  let world: PageWorld;
  let opened: OpenPage;

  beforeAll(async () => {
    world = await PageWorld.start({ devices: [...LAMPS, BLIND, DOOR] });
    await world.hub.result('hub:describe_area', { area: 'Bedroom', floor: 'Upstairs' });
    opened = await world.open();
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const button = (name: string | RegExp) => opened.page.getByRole('button', { name, exact: true });
  const lit = async () => Promise.all(LAMPS.map((name) => world.device(name).get('light', 'OnOff', 'OnOff')));
  const lift = () => world.device(BLIND).get(1, 'WindowCovering', 'CurrentPositionLiftPercent100ths');
  const names = (region: string) => opened.page.getByRole('region', { name: region }).getByRole('article').evaluateAll(labels);
  const labels = (elements: readonly { getAttribute(name: string): string | null }[]) =>
    elements.map((element) => element.getAttribute('aria-label'));

  async function lightUp(): Promise<void> {
    for (const name of LAMPS) await world.device(name).set('light', 'OnOff', 'OnOff', true);
    await button('4 lights on').waitFor();
  }

  /** Presses Tab until the element with the focus has this label or text. */
  async function tabTo(label: string): Promise<void> {
    const words = "document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent?.trim()";
    for (let press = 0; press < 80; press++) {
      await opened.page.keyboard.press('Tab');
      if ((await opened.page.evaluate(words)) === label) return;
    }
    expect.unreachable(`Tab never reaches ${label}`);
  }

  test('one tap turns all lights of the house off: the lamps themselves are off', async () => {
    await opened.show('home');
    await lightUp();
    await button('All lights off').click();
    await opened.page.getByText('All lights off: 4 of 4 done').waitFor();
    expect(await lit()).toEqual([false, false, false, false]);
    await opened.page.getByText('All lights are off, and all is well.').waitFor();
  });

  test('one tap does the same for the lights of a room, and for its blinds', async () => {
    await lightUp();
    await button('Lights off: Bedroom').click();
    await expect.poll(lit).toEqual([true, true, true, false]);
    await button('Close covers: Bedroom').click();
    await expect.poll(lift).toBe(10_000);
    await button('Open covers: Bedroom').waitFor();
  });

  test('what did not follow is named, and stays until somebody has read it', async () => {
    const members = [
      { device_id: 'a', name: 'Hall light', outcome: 'settled' },
      { device_id: 'b', name: 'Garden spot', outcome: 'failed', code: 'DEVICE_UNREACHABLE', reason: 'no answer' },
    ];
    const invoke = '**/api/v1/tools/control_area/invoke';
    await opened.page.route(invoke, (route) => route.fulfill({ json: { status: 'success', result: { success: false, members } } }));
    await button('All lights off').click();
    const note = opened.page.getByRole('alert', { name: 'All lights off' });
    await note.getByText('All lights off: 1 of 2 done').waitFor();
    await note.getByText('Garden spot did not answer').waitFor();
    expect(await opened.barriers()).toEqual([]);
    await note.getByRole('button', { name: 'Close this note' }).click();
    await note.waitFor({ state: 'detached' });
    await opened.page.unroute(invoke);
  });

  test('a line of the summary shows the devices that it counts', async () => {
    await lightUp();
    await button('4 lights on').click();
    await expect.poll(async () => await opened.page.locator('atmo-home-tile').count()).toBe(4);
    await button('4 lights on').click();
    await expect.poll(async () => await opened.page.locator('atmo-home-tile').count()).toBe(6);
  });

  test('a scene is saved from what is now, and runs in one tap', async () => {
    await button('All lights off').click();
    await expect.poll(lit).toEqual([false, false, false, false]);
    await button('New scene').click();
    const dialog = opened.page.getByRole('dialog', { name: 'New scene' });
    await dialog.getByLabel('Name').fill('Good night');
    expect(await opened.barriers()).toEqual([]);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await button('Good night').waitFor();
    await lightUp();
    await world.hub.result('bedroom_blind_open');
    await button('Good night').click();
    await opened.page.getByText(/^Good night: \d+ of \d+ done/).waitFor();
    expect(await lit()).toEqual([false, false, false, false]);
    await expect.poll(lift).toBe(10_000);
    expect((await world.device(DOOR).commands()).filter(({ cluster }) => cluster === 'DoorLock')).toEqual([]);
  });

  test('what a person says in the search is offered in one tap, with the devices that it is about', async () => {
    const say = (words: string) => opened.page.getByRole('searchbox').fill(words);
    const offer = (name: RegExp) => opened.page.getByRole('group', { name: 'What this can do' }).getByRole('button', { name });
    await lightUp();
    await world.hub.result('bedroom_blind_open');
    await say('close the blinds in the bedroom');
    await offer(/^Close covers: Bedroom Bedroom blind$/).click();
    await expect.poll(lift).toBe(10_000);
    await say('turn everything off upstairs');
    await offer(/^Lights off: Upstairs Bedroom lamp$/).click();
    await expect.poll(lit).toEqual([true, true, true, false]);
    await say('alle Lichter aus');
    await offer(/^All lights off .* and 1 more$/).waitFor();
    expect(await opened.barriers()).toEqual([]);
    await offer(/^All lights off/).click();
    await expect.poll(lit).toEqual([false, false, false, false]);
    await lightUp();
    await say('good night');
    await offer(/^Good night /).click();
    await expect.poll(lit).toEqual([false, false, false, false]);
    await say('');
    await button('Good night').waitFor();
    for (const sentence of ['good night', 'start the scene good night', 'Szene Good night starten']) {
      const { tools } = (await world.hub.get(`/api/v1/tools?q=${encodeURIComponent(sentence)}`)) as {
        tools: readonly { readonly id: string }[];
      };
      expect(tools[0]?.id, sentence).toMatch(/^scene:good_night@/);
    }
  });

  test('a scene is renamed, loses a device, and is deleted', async () => {
    await button('Edit').click();
    await button('Change scene Good night').click();
    const dialog = opened.page.getByRole('dialog', { name: 'Scene Good night' });
    await dialog.getByLabel('Name').fill('Night');
    await dialog.getByRole('checkbox', { name: /Hall light/ }).uncheck();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await button('Change scene Night').click();
    const renamed = opened.page.getByRole('dialog', { name: 'Scene Night' });
    expect(await renamed.getByRole('checkbox', { name: /Hall light/ }).count()).toBe(0);
    await renamed.getByText('Delete this scene …').click();
    await renamed.getByRole('button', { name: 'Delete scene Night' }).click();
    await button('Change scene Night').waitFor({ state: 'detached' });
    expect(await world.hub.get('/api/v1/scenes')).toMatchObject({ scenes: [] });
    await button('Done').click();
  });

  test('favourites and their order are chosen with the keyboard, and are there on the phone of the same person', async () => {
    await tabTo('Edit');
    await opened.page.keyboard.press('Enter');
    for (const name of ['Hall light', 'Bedroom blind']) {
      await tabTo(`${name} is a favourite`);
      await opened.page.keyboard.press('Space');
      await opened.page.getByText(`${name} is a favourite now`).waitFor();
    }
    expect(await names('Favourites')).toEqual(['Hall light', 'Bedroom blind']);
    await opened.page.getByRole('region', { name: 'Favourites' }).getByRole('button', { name: 'Move Bedroom blind up' }).focus();
    await opened.page.keyboard.press('Enter');
    await opened.page.getByText('Bedroom blind is now number 1 of 2').waitFor();
    // The focus stays at the button, for the next press.
    await expect.poll(() => opened.page.evaluate("document.activeElement?.getAttribute('aria-label')")).toBe('Move Bedroom blind up');
    await opened.page.getByRole('button', { name: 'Move Living room up' }).click();
    expect(await opened.barriers()).toEqual([]);
    await opened.page.reload();
    await expect.poll(() => names('Favourites')).toEqual(['Bedroom blind', 'Hall light']);
    await using phone = await world.open('phone');
    await phone.show('home');
    const there = phone.page.getByRole('region', { name: 'Favourites' }).getByRole('article');
    await expect.poll(() => there.evaluateAll(labels)).toEqual(['Bedroom blind', 'Hall light']);
    expect(await phone.overflowPixels()).toBe(0);
  });

  test('a room gets another name and floor, and is joined to another one', async () => {
    await opened.show('home');
    await button('Edit').click();
    await button('Change room Living room').click();
    const dialog = opened.page.getByRole('dialog', { name: 'Room Living room' });
    await dialog.getByLabel('Name').fill('Salon');
    await dialog.getByLabel('Floor').fill('Ground floor');
    expect(await opened.barriers()).toEqual([]);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await opened.page.getByRole('heading', { name: 'Ground floor' }).waitFor();
    await button('Change room Kitchen').click();
    await opened.page.getByLabel('Other room').selectOption({ label: 'Salon' });
    await button('Join the rooms').click();
    await expect.poll(() => names('Salon')).toEqual(expect.arrayContaining(['Kitchen ceiling', 'Living room lamp']));
    expect(await opened.page.getByRole('region', { name: 'Kitchen' }).count()).toBe(0);
    await button('Done').click();
  });

  test('one tap does the same for a floor', async () => {
    await lightUp();
    await button('Lights off: Ground floor').click();
    await expect.poll(lit).toEqual([false, true, false, true]);
  });

  test('who may use one room sees a whole page of it, and is offered nothing else', async () => {
    const { token } = await world.hub.result('hub:mint_token', {
      agent_id: 'guest',
      permissions: ['device:control:hall-light', 'device:read:hall-light', 'sensor:read:hall-light'],
    });
    await using guest = await world.open('phone', { token: String(token) });
    await guest.show('home');
    await expect.poll(() => guest.page.locator('atmo-home-tile').count()).toBe(1);
    await guest.page.getByRole('button', { name: 'Edit' }).click();
    await guest.page.getByRole('article', { name: 'Hall light' }).waitFor();
    expect(await guest.page.getByRole('button', { name: /Change room|Give everybody/ }).count()).toBe(0);
    expect(await guest.page.locator('body').textContent()).not.toContain(DOOR);
    await guest.page.getByRole('searchbox').fill('all lights off');
    await guest.page.getByRole('button', { name: /^All lights off Hall light$/ }).waitFor();
    await guest.page.getByRole('searchbox').fill('close all blinds');
    await guest.page.getByText('Nothing here fits.').waitFor();
    expect(await guest.barriers()).toEqual([]);
    expect(await guest.overflowPixels()).toBe(0);
  });

  test('sixty devices take at most three screens of a phone, and a lamp among them is found and turned on in two taps', async () => {
    await using big = await world.open('phone');
    await big.page.setViewportSize(PHONE);
    const { devices } = (await world.hub.get('/api/v1/devices')) as { devices: readonly { readonly id: string }[] };
    const others = WHOLE_HOME.filter(({ id, readings }) => readings.length > 0 && !devices.some((own) => own.id === id));
    const spots = Array.from({ length: 60 - devices.length - others.length }, (_none, index) => ({
      ...others[0],
      id: `spot-${index}`,
      name: `Spot ${index}`,
      area: others[index]?.area,
    }));
    await big.page.route('**/api/v1/devices', (route) => route.fulfill({ json: { devices: [...devices, ...others, ...spots] } }));
    await big.page.route('**/api/v1/page-preferences', (route) => route.fulfill({ json: { preferences: {} } }));
    await big.page.reload();
    await expect.poll(() => big.page.locator('main atmo-home-tile').count()).toBe(60);
    expect(Number(await big.page.evaluate('document.documentElement.scrollHeight'))).toBeLessThanOrEqual(SCREENS * PHONE.height);
    expect(await big.overflowPixels()).toBe(0);
    await world.device('Bedroom lamp').set('light', 'OnOff', 'OnOff', false);
    await big.page.getByRole('searchbox').tap();
    await big.page.keyboard.type('lamp bedroom');
    await expect.poll(() => big.page.locator('atmo-home-tile').count()).toBeLessThan(5);
    await big.page.getByRole('switch', { name: 'Bedroom lamp on' }).tap();
    await expect.poll(() => world.device('Bedroom lamp').get('light', 'OnOff', 'OnOff')).toBe(true);
  });

  test.each(['phone', 'dark'] as const)('speaks German, without a barrier and without a text that is too long, %s', async (look) => {
    await using german = await world.open(look);
    await german.page.evaluate("localStorage.setItem('atmosphere-language', 'de')");
    await german.page.reload();
    await german.page.getByRole('button', { name: 'Alle Lichter aus' }).waitFor();
    await german.page.getByRole('button', { name: 'Bearbeiten' }).click();
    expect(await german.barriers()).toEqual([]);
    expect(await german.overflowPixels()).toBe(0);
    expect(german.complaints).toEqual([]);
  });

  test('and the browser had nothing to complain about', () => {
    expect(opened.complaints).toEqual([]);
  });
});
