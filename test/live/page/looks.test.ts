import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_HINT } from '../../../scripts/browser/chromium.ts';
import { PAGES } from '../../../src/web/router.ts';
import { HAS_CHROMIUM } from './chromium.ts';
import { LOOK_NAMES, type Look } from './look.ts';
import type { OpenPage } from './open-page.ts';
import { PageWorld } from './page-world.ts';
import { keepPicture } from './pictures.ts';

const DEVICES = ['Living room lamp', 'Thermostat', 'Bedroom blind', 'Front door', 'Garden thermometer', 'Kitchen window'];
/** Addresses of the pages that have a parameter, and of what a page shows beside its first view. */
const ADDRESSES: Readonly<Record<string, string>> = {
  'devices/:id': 'devices/thermostat',
  tools: 'tools?q=make%20the%20living%20room%20bright',
};

describe.skipIf(!HAS_CHROMIUM)(`the page${HAS_CHROMIUM ? '' : `: ${CHROMIUM_HINT}`}`, () => {
  let world: PageWorld;
  const opened = new Map<Look, OpenPage>();

  beforeAll(async () => {
    world = await PageWorld.start({ devices: DEVICES, config: { mesh: { name: 'house' } } });
    await world.hub.result('hub:mesh_create', { passphrase: 'correct horse battery staple', name: 'home' });
    const { token } = await world.hub.result('hub:mint_token', {
      agent_id: 'assistant',
      permissions: ['device:control:*', 'sensor:read:*'],
    });
    for (const tool of ['living_room_lamp_turn_on', 'thermostat_read_temperature', 'front_door_unlock']) await callAs(String(token), tool);
    for (const look of LOOK_NAMES) opened.set(look, await world.open(look));
  });
  afterAll(async () => {
    for (const page of opened.values()) await page[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  async function callAs(token: string, tool: string): Promise<void> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const params = tool === 'front_door_unlock' ? { pin: '1234' } : {};
    await fetch(`${world.hub.url}/api/v1/tools/${tool}/invoke`, { method: 'POST', headers, body: JSON.stringify(params) });
  }

  const views = PAGES.flatMap(({ route }) => LOOK_NAMES.map((look) => ({ route, look })));
  test.for(views)('$route is there for everybody, $look', async ({ route, look }, { expect }) => {
    const page = opened.get(look) ?? expect.unreachable();
    await page.show(ADDRESSES[route] ?? route);
    expect(await page.page.locator('h1').count()).toBe(1);
    expect(await page.barriers()).toEqual([]);
    expect(await page.overflowPixels()).toBe(0);
    expect(page.complaints.splice(0)).toEqual([]);
    await keepPicture(page, route);
  });

  test.for(LOOK_NAMES)('whoever is not signed in is asked for a token, %s', async (look, { expect }) => {
    await using page = await world.openSignedOut(look);
    expect(await page.barriers()).toEqual([]);
    expect(await page.overflowPixels()).toBe(0);
    expect(page.complaints).toEqual([]);
    await keepPicture(page, 'sign-in');
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
