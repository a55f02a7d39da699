import type { CDPSession } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_HINT } from '../../../scripts/browser/chromium.ts';
import { HAS_CHROMIUM } from './chromium.ts';
import type { OpenPage } from './open-page.ts';
import { PageWorld } from './page-world.ts';

const LAMP = 'Hall light';
const READY = 'navigator.serviceWorker.ready.then(({ active }) => active.state)';
const NOTICE = {
  id: 'notice-1',
  kind: 'approval',
  title: 'Claude asks to unlock Front door',
  text: 'Front door, hall. Until 12:04.',
  path: '/#/approvals',
  urgency: 'high',
};

describe.skipIf(!HAS_CHROMIUM)(`the page as an app${HAS_CHROMIUM ? '' : `: ${CHROMIUM_HINT}`}`, () => {
  let world: PageWorld;
  let opened: OpenPage;
  let browser: CDPSession;

  beforeAll(async () => {
    world = await PageWorld.start({ devices: [LAMP] });
    opened = await world.open('phone');
    await opened.page.context().grantPermissions(['notifications']);
    browser = await opened.page.context().newCDPSession(opened.page);
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  test('has a manifest that the browser takes, with icons of the sizes that it says', async () => {
    const { url, errors, data } = await browser.send('Page.getAppManifest');
    expect(errors).toEqual([]);
    expect(url).toBe(`${world.hub.url}/manifest.webmanifest`);
    const manifest = JSON.parse(data ?? '{}') as Record<string, string> & { icons: readonly Record<string, string>[] };
    expect(manifest).toMatchObject({ name: 'Atmosphere', short_name: 'Atmosphere', start_url: '/', scope: '/', display: 'standalone' });
    expect([manifest.theme_color, manifest.background_color].every((colour) => /^#[0-9a-f]{6}$/.test(colour ?? ''))).toBe(true);
    for (const { src, sizes, type } of manifest.icons.filter((icon) => icon.type === 'image/png')) {
      const measured = await opened.page.evaluate(
        `new Promise((done) => { const image = new Image(); image.onload = () => done(image.naturalWidth + 'x' + image.naturalHeight); image.src = '${src}'; })`,
      );
      expect([measured, type]).toEqual([sizes, 'image/png']);
    }
    const purposes = manifest.icons.map(({ sizes, purpose }) => `${sizes} ${purpose}`);
    expect(purposes).toEqual(expect.arrayContaining(['192x192 any', '512x512 any', '192x192 maskable', '512x512 maskable']));
    const { installabilityErrors } = await browser.send('Page.getInstallabilityErrors');
    // The browser of the test keeps nothing, as a private window, which is the only thing against an installation.
    expect(installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== 'in-incognito')).toEqual([]);
  });

  test('shows a pushed notice once, however often it comes, and opens its page when it is chosen', async () => {
    await expect.poll(() => opened.page.evaluate(READY)).toBe('activated');
    const registration = new Promise<string>((found) => {
      browser.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
        if (registrations[0]) found(registrations[0].registrationId);
      });
    });
    await browser.send('ServiceWorker.enable');
    const registrationId = await registration;
    for (const text of ['first', NOTICE.text]) {
      const data = JSON.stringify({ ...NOTICE, text });
      await browser.send('ServiceWorker.deliverPushMessage', { origin: world.hub.url, registrationId, data });
    }
    const shown = () =>
      opened.page.evaluate(`navigator.serviceWorker.ready.then((worker) => worker.getNotifications())
        .then((all) => all.map(({ title, body, tag, data }) => ({ title, body, tag, data })))`);
    await expect.poll(shown).toEqual([{ title: NOTICE.title, body: NOTICE.text, tag: 'notice-1', data: '/#/approvals' }]);
    await opened.show('tools');
    const [worker] = opened.page.context().serviceWorkers();
    await worker?.evaluate(`self.registration.getNotifications().then(([notification]) =>
      self.dispatchEvent(new NotificationEvent('notificationclick', { notification })))`);
    await opened.page.waitForURL(/#\/approvals$/);
    await expect.poll(shown).toEqual([]);
  });

  test('says in the settings of this device what notices need, and why they are missing without HTTPS', async () => {
    await opened.show('this-device');
    await opened.page.getByRole('button', { name: 'Notify this device' }).waitFor();
    expect(await opened.barriers()).toEqual([]);
    await using plain = await world.open('phone');
    await plain.show('this-device');
    await plain.page.addInitScript("Object.defineProperty(globalThis, 'isSecureContext', { get: () => false })");
    await plain.page.reload();
    await plain.page.getByText('Offline use, notices and passkeys do not work here.').waitFor();
    await plain.page.getByText('The page came without encryption.', { exact: false }).waitFor();
  });

  test('opens without the hub, says so largely, disables what needs the hub, and goes on when it is back', async () => {
    await opened.show('home');
    const toggle = opened.page.locator('main button').first();
    expect(await toggle.isEnabled()).toBe(true);
    await world.killHub();
    try {
      const away = opened.page.getByRole('alert').filter({ hasText: 'The hub cannot be reached' });
      await away.waitFor();
      expect(await toggle.isDisabled()).toBe(true);
      await opened.page.reload();
      await away.waitFor();
      const { height = 0, width = 0 } = (await away.boundingBox()) ?? {};
      expect(height).toBeGreaterThan(80);
      expect(width).toBeGreaterThan(300);
      await opened.page.getByRole('heading', { level: 1, name: 'The hub cannot be reached' }).waitFor();
      expect(await opened.page.locator('main button:enabled').count()).toBe(0);
      // The worker answers for the address with which the app starts.
      expect(await opened.page.evaluate("fetch('/').then(({ status }) => status)")).toBe(200);
      expect(await opened.page.evaluate('new URL(navigator.serviceWorker.controller.scriptURL).pathname')).toBe('/service-worker.js');
      expect(await opened.barriers()).toEqual([]);
      // What the worker keeps is the page and nothing of the home.
      const kept = await opened.page.evaluate(`caches.keys().then((names) => Promise.all(names.map((name) => caches.open(name))))
        .then((all) => Promise.all(all.map((cache) => cache.keys()))).then((all) => all.flat().map(({ url }) => new URL(url).pathname))`);
      expect((kept as readonly string[]).filter((path) => !/^\/(?:$|manifest\.webmanifest$|assets\/)/.test(path))).toEqual([]);
    } finally {
      await world.reviveHub();
    }
    await opened.page.getByText(LAMP).first().waitFor();
    await expect.poll(() => opened.page.getByText('The hub cannot be reached').count()).toBe(0);
    await expect.poll(() => opened.page.locator('main button:enabled').count()).toBeGreaterThan(0);
    // A browser complains of each request that a hub without power does not take.
    expect(opened.complaints.splice(0).filter((complaint) => !/ERR_(?:CONNECTION|INCOMPLETE|EMPTY|NETWORK)/.test(complaint))).toEqual([]);
  });

  test('speaks German when a person chooses it, on every page, without a barrier', async () => {
    await opened.show('this-device');
    await opened.page.locator('main').getByRole('combobox', { name: 'Language' }).selectOption('de');
    await opened.page.getByRole('heading', { name: 'Dieses Gerät' }).waitFor();
    expect(await opened.page.evaluate('document.documentElement.lang')).toBe('de');
    const titles = {
      'devices/hall-light': LAMP,
      tools: 'Werkzeuge',
      'add-device': 'Gerät hinzufügen',
      activity: 'Aktivität',
      mesh: 'Mesh',
      networks: 'Netze',
      events: 'Ereignisse',
      'this-device': 'Dieses Gerät',
    };
    await opened.page.getByRole('navigation').getByText('Zuhause').waitFor();
    for (const [route, title] of Object.entries(titles)) {
      await opened.show(route);
      await opened.page.getByRole('heading', { level: 1, name: title }).waitFor();
      expect(await opened.barriers(), route).toEqual([]);
      expect(await opened.overflowPixels(), route).toBe(0);
    }
    await opened.page.locator('main').getByRole('combobox', { name: 'Sprache' }).selectOption('');
    await opened.page.getByRole('heading', { name: 'This device' }).waitFor();
    expect(opened.complaints.splice(0)).toEqual([]);
  });
});
