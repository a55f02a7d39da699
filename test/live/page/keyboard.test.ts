import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_HINT } from '../../../scripts/browser/chromium.ts';
import { HAS_CHROMIUM } from './chromium.ts';
import type { OpenPage } from './open-page.ts';
import { PageWorld } from './page-world.ts';

const LAMP = 'Living room lamp';
const DOOR = 'Front door';
const AUTOMATION = 'evening';
const SETUP_LIMIT_MS = 300_000;

describe.skipIf(!HAS_CHROMIUM)(`the page by keys alone${HAS_CHROMIUM ? '' : `: ${CHROMIUM_HINT}`}`, () => {
  let world: PageWorld;
  let opened: OpenPage;

  beforeAll(async () => {
    world = await PageWorld.start({ devices: [LAMP, DOOR] });
    await world.hub.result('spawn_agent', {
      agent_type: 'automation',
      name: AUTOMATION,
      permissions: ['device:control:living-room-lamp'],
      config: {
        trigger: { type: 'time', at: '19:30' },
        actions: [{ tool: 'turn_on_light', params: { device_id: 'living-room-lamp' } }],
      },
    });
    opened = await world.open();
  }, SETUP_LIMIT_MS);
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const press = (key: string) => opened.page.keyboard.press(key);
  const isOn = () => world.device(LAMP).get('light', 'OnOff', 'OnOff');
  /** What a screen reader says by itself. */
  const told = (words: string | RegExp) => opened.page.getByRole('status').getByText(words).first().waitFor();

  test('a lamp is found by its name and switched; its state is that of a switch', async () => {
    await world.device(LAMP).set('light', 'OnOff', 'OnOff', false);
    await opened.show('home');
    await opened.tabTo(/^Find a device/);
    await opened.page.keyboard.type('living lamp');
    await expect.poll(() => opened.page.getByRole('article').count()).toBe(1);
    await opened.tabTo(`${LAMP} on`);
    await press('Space');
    await expect.poll(isOn).toBe(true);
    await opened.page.getByRole('switch', { name: `${LAMP} on`, checked: true }).waitFor();
    await expect.poll(() => opened.focused()).toBe(`${LAMP} on`);
  });

  test('a scene is saved and run; the focus goes back to where the dialog was opened', async () => {
    await opened.show('events');
    await opened.show('home');
    await opened.tabTo('New scene');
    await press('Enter');
    await opened.page.getByRole('dialog', { name: 'New scene' }).waitFor();
    await press('Escape');
    await opened.page.locator('dialog').waitFor({ state: 'detached' });
    await expect.poll(() => opened.focused()).toBe('New scene');
    await press('Enter');
    await expect.poll(() => opened.focused()).toBe('Name');
    await opened.page.keyboard.type('Cosy');
    await press('Enter');
    await told('Save scene Cosy: done');
    await expect.poll(() => opened.focused()).not.toBe('');
    await world.device(LAMP).set('light', 'OnOff', 'OnOff', false);
    await opened.show('events');
    await opened.show('home');
    await opened.tabTo('Cosy');
    await press('Enter');
    await expect.poll(isOn).toBe(true);
  });

  test('an automation is turned off and on, and its end is chosen', async () => {
    await opened.show('automations');
    const runs = opened.page.getByRole('switch', { name: `${AUTOMATION} runs` });
    for (const checked of [false, true]) {
      await opened.tabTo(`${AUTOMATION} runs`);
      await press(checked ? 'Space' : 'Enter');
      await opened.page.getByRole('switch', { name: `${AUTOMATION} runs`, checked }).waitFor();
      await expect.poll(() => opened.focused()).toBe(`${AUTOMATION} runs`);
    }
    expect(await runs.count()).toBe(1);
    await opened.tabTo('Change the end');
    await press('Enter');
    await opened.tabTo('Ends in');
    await press('3');
    await opened.tabTo('Change the end');
    await press('Enter');
    await opened.page.getByRole('dialog').waitFor({ state: 'detached' });
    await told('Done.');
    await expect.poll(() => opened.focused()).toBe('Change the end');
  });

  test('a request is found from Home and approved; what was decided is told, and the focus stays on the page', async () => {
    const { token } = await world.hub.result('hub:mint_token', { agent_id: 'claude', permissions: ['device:control:*'] });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const asked = await fetch(`${world.hub.url}/api/v1/tools/front_door_unlock/invoke`, {
      method: 'POST',
      headers,
      body: '{"pin":"1234"}',
    });
    expect(asked.status).toBe(202);
    await opened.show('home');
    await opened.page.getByRole('link', { name: /^Approvals 1/ }).waitFor();
    await opened.tabTo(/^Approvals/);
    await press('Enter');
    await opened.page.getByRole('article', { name: /claude wants/ }).waitFor();
    await opened.tabTo(/^Approve once/);
    await opened.page.getByRole('button', { name: 'Approve once', disabled: false }).waitFor();
    await press('Enter');
    await told(/approved/);
    await opened.page.getByRole('article').waitFor({ state: 'detached' });
    await expect.poll(() => opened.focused()).toBe('Approvals');
  });

  test('and the browser had nothing to complain about', () => {
    expect(opened.complaints).toEqual([]);
  });
});
