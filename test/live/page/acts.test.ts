import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_HINT } from '../../../scripts/browser/chromium.ts';
import { HAS_CHROMIUM } from './chromium.ts';
import type { OpenPage } from './open-page.ts';
import { PageWorld } from './page-world.ts';

const LAMP = 'Living room lamp';
const DOOR = 'Front door';
/** Of the form that every tool has. */
const CALL = 'Run';
const LOCKED = 1;
const UNLOCKED = 2;

describe.skipIf(!HAS_CHROMIUM)(`what a person does at the page${HAS_CHROMIUM ? '' : `: ${CHROMIUM_HINT}`}`, () => {
  let world: PageWorld;
  let opened: OpenPage;

  beforeAll(async () => {
    world = await PageWorld.start({ devices: [LAMP, DOOR], config: { mesh: { name: 'house' } } });
    opened = await world.open();
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const as = (token: string, path: string) => fetch(`${world.hub.url}${path}`, { headers: { authorization: `Bearer ${token}` } });
  const copied = async (label: string) => String(await opened.page.getByRole('group', { name: label, exact: true }).textContent());

  async function openTrial(words: string, tool: string): Promise<ReturnType<OpenPage['page']['locator']>> {
    await opened.show('tools');
    await opened.page.getByRole('searchbox').fill(words);
    const card = opened.page.getByRole('article').filter({ has: opened.page.getByText(tool, { exact: true }) });
    // It may stand in the list of all tools before the answer to the words comes.
    await card.getByRole('meter').waitFor();
    await card.getByRole('button', { name: 'Try it' }).click();
    return card;
  }

  test('finds a tool by a sentence, with the reason, and calls it: the lamp itself is dimmed', async () => {
    const card = await openTrial('dim the lamp in the living room', 'living_room_lamp_set_brightness');
    expect(await card.getByText('Because of').count()).toBe(1);
    await card.getByRole('spinbutton', { name: 'Brightness' }).fill('40');
    await card.getByRole('button', { name: CALL }).click();
    await card.getByRole('group', { name: 'Answer' }).waitFor();
    expect(await world.device(LAMP).get('light', 'LevelControl', 'CurrentLevel')).toBe(102);
  });

  test('cannot ask for more than a tool takes, and the lamp stays as it is', async () => {
    const card = opened.page
      .getByRole('article')
      .filter({ has: opened.page.getByText('living_room_lamp_set_brightness', { exact: true }) });
    await card.getByRole('spinbutton', { name: 'Brightness' }).fill('400');
    await card.getByRole('button', { name: CALL }).click();
    expect(await card.locator('input:out-of-range').count()).toBe(1);
    expect((await world.device(LAMP).commands()).filter(({ command }) => command.startsWith('moveToLevel'))).toHaveLength(1);
    expect(await world.device(LAMP).get('light', 'LevelControl', 'CurrentLevel')).toBe(102);
  });

  test('is stopped at the door until somebody has approved, at another page; then it opens by itself', async () => {
    await world.device(DOOR).set('lock', 'DoorLock', 'LockState', LOCKED);
    const card = await openTrial('unlock the front door', 'front_door_unlock');
    await card.getByLabel('Pin').fill('1234');
    await card.getByRole('button', { name: CALL }).click();
    await card.getByText('Waits for approval').waitFor();
    expect(await world.device(DOOR).get('lock', 'DoorLock', 'LockState')).toBe(LOCKED);
    await using approver = await world.open('phone');
    await approver.show('approvals');
    await approver.decide(approver.page.getByRole('button', { name: 'Approve once' }));
    await expect.poll(() => world.device(DOOR).get('lock', 'DoorLock', 'LockState')).toBe(UNLOCKED);
    await opened.page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(approver.complaints).toEqual([]);
  });

  test('makes a token by choosing, sees before what it would see, and the agent can do that and no more', async () => {
    await opened.show('tokens');
    await opened.page.getByLabel('Name of the agent').fill('reader');
    await opened.page.getByRole('combobox', { name: 'May', exact: true }).selectOption({ label: 'Control' });
    await opened.page.getByRole('combobox', { name: 'Of', exact: true }).selectOption({ label: LAMP });
    await opened.page.getByRole('button', { name: 'Add', exact: true }).first().click();
    await opened.page.getByRole('combobox', { name: 'May', exact: true }).selectOption({ label: 'Read sensors and their history' });
    await opened.page.getByRole('combobox', { name: 'Of', exact: true }).selectOption({ label: LAMP });
    await opened.page.getByRole('button', { name: 'Add', exact: true }).first().click();
    await opened.page.getByRole('button', { name: 'What it would see' }).click();
    const sight = opened.page.getByRole('status', { name: 'What it sees' });
    await sight.getByText('1 device', { exact: true }).waitFor();
    expect(await sight.textContent()).not.toContain(DOOR);
    await opened.page.getByRole('button', { name: 'Make the token' }).click();
    const token = await copied('Token');
    expect(await (await as(token, '/api/v1/devices')).json()).toMatchObject({ devices: [{ name: LAMP }] });
    expect(await (await as(token, '/api/v1/devices/front-door')).json()).toMatchObject({ code: 'DEVICE_NOT_FOUND' });
  });

  test('narrows it: the new one has less, the old one has ended', async () => {
    const old = await copied('Token');
    // The hub tells of the new token before the old one has ended, however long that takes.
    const ending = '**/api/v1/tokens/*';
    await opened.page.route(ending, async (route) => {
      await setTimeout(500);
      await route.continue();
    });
    await opened.page.getByRole('button', { name: 'Narrow reader' }).click();
    await opened.page.getByRole('button', { name: 'Take out device:control:living-room-lamp' }).click();
    await opened.page.getByRole('button', { name: 'Replace the token' }).click();
    await expect.poll(() => copied('Token')).not.toBe(old);
    expect((await as(old, '/api/v1/devices')).status).toBe(401);
    await opened.page.unroute(ending);
    await expect.poll(() => opened.page.getByRole('button', { name: 'Revoke reader' }).count()).toBe(1);
    const narrow = await copied('Token');
    const { tools } = (await (await as(narrow, '/api/v1/tools?limit=1000')).json()) as { tools: readonly { id: string }[] };
    expect(JSON.stringify(tools)).not.toContain('living_room_lamp_turn_on');
  });

  test('revokes it: it ends at once', async () => {
    const token = await copied('Token');
    expect((await as(token, '/api/v1/sensors')).status).toBe(200);
    await opened.page.getByRole('button', { name: 'Revoke reader' }).click();
    await opened.page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
    await opened.page.getByText('No agent has a token.').waitFor();
    expect((await as(token, '/api/v1/sensors')).status).toBe(401);
    await opened.show('events');
    await opened.show('tokens');
    expect(await opened.page.getByRole('group', { name: 'Token', exact: true }).count()).toBe(0);
  });

  test('sees who called what, with the agent as filter, and has the journal verified', async () => {
    const { token } = await world.hub.result('hub:mint_token', { agent_id: 'night', permissions: ['device:control:living-room-lamp'] });
    const invoke = { method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, body: '{}' };
    await fetch(`${world.hub.url}/api/v1/tools/living_room_lamp_turn_off/invoke`, invoke);
    await fetch(`${world.hub.url}/api/v1/tools/front_door_unlock/invoke`, invoke);
    await opened.show('activity');
    await opened.page.getByRole('link', { name: 'night' }).first().click();
    const journal = opened.page.getByRole('list', { name: 'Journal' });
    await expect
      .poll(async () => new Set(await journal.locator('.subject').allTextContents()))
      .toEqual(new Set(['living_room_lamp_turn_off by night', 'front_door_unlock by night']));
    await journal.getByText('refused').waitFor();
    await opened.page.getByRole('button', { name: 'Verify' }).click();
    await opened.page.getByText(/All \d+ rows fit their chain/).waitFor();
  });

  test('watches events as they come, holds them, and finds one by a word', async () => {
    await opened.show('events');
    const rows = opened.page.getByRole('list', { name: 'Events' }).getByRole('listitem');
    await opened.page.getByRole('searchbox', { name: 'Contains' }).fill('living-room-lamp/is_on');
    await opened.page.getByRole('button', { name: 'Clear' }).click();
    await expect.poll(() => rows.count()).toBe(0);
    await world.device(LAMP).set('light', 'OnOff', 'OnOff', true);
    await expect.poll(() => rows.count()).toBe(1);
    await opened.page.getByRole('button', { name: 'Pause' }).click();
    await world.device(LAMP).set('light', 'OnOff', 'OnOff', false);
    await opened.page.getByRole('button', { name: /Resume \(\d+ new\)/ }).waitFor();
    expect(await rows.count()).toBe(1);
    await opened.page.getByRole('button', { name: /Resume/ }).click();
    await expect.poll(() => rows.count()).toBe(2);
    await opened.page.getByLabel('Kind').selectOption({ label: 'Tokens' });
    await expect.poll(() => rows.count()).toBe(0);
  });

  test('makes a mesh and an invite that the hub knows of', async () => {
    await opened.show('mesh');
    await opened.page.getByLabel('Name').fill('the house');
    await opened.page.getByLabel('Passphrase').fill('correct horse battery staple');
    await opened.page.getByRole('button', { name: 'Make it' }).click();
    await opened.page.getByRole('heading', { name: 'the house' }).waitFor();
    expect(await world.hub.get('/api/v1/mesh')).toMatchObject({ state: 'member', name: 'the house', open_invites: 0 });
    await opened.page.getByRole('button', { name: 'Make an invite' }).click();
    await expect.poll(() => copied('Invite')).toMatch(/^atmo-join1\./);
    expect(await world.hub.get('/api/v1/mesh')).toMatchObject({ open_invites: 1 });
  });

  test('and the browser had nothing to complain about', () => {
    expect(opened.complaints).toEqual([]);
  });
});
