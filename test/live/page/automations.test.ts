import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_HINT } from '../../../scripts/browser/chromium.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { type DeviceSpec, homeOf, standardHome } from '../../home/home-spec.ts';
import { HAS_CHROMIUM } from './chromium.ts';
import type { OpenPage } from './open-page.ts';
import { PageWorld } from './page-world.ts';

const LAMP = 'Living room lamp';
const DOOR = 'Front door';
const LOCKED = 1;
const UNLOCKED = 2;

/** Returns the lock of the standard home without its PIN, which an undo could not know. */
function lockWithoutPin(): DeviceSpec {
  const [lock] = homeOf(standardHome(), [DOOR]).devices;
  if (!lock) throw new AtmoError('INTERNAL_ERROR', `The standard home has no ${DOOR}`);
  return { ...lock, state: { lock: { doorLock: { requirePinForRemoteOperation: false } } } };
}

describe.skipIf(!HAS_CHROMIUM)(`what is undone and what runs by itself${HAS_CHROMIUM ? '' : `: ${CHROMIUM_HINT}`}`, () => {
  let world: PageWorld;
  let opened: OpenPage;

  beforeAll(async () => {
    world = await PageWorld.start({ devices: [LAMP], extra: [lockWithoutPin()] });
    opened = await world.open();
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const button = (name: string | RegExp) => opened.page.getByRole('button', { name, exact: true });
  const notice = (text: string | RegExp) => opened.page.locator('.notice').filter({ hasText: text });
  const isOn = () => world.device(LAMP).get('light', 'OnOff', 'OnOff');
  const lockState = () => world.device(DOOR).get('lock', 'DoorLock', 'LockState');

  describe('undo', () => {
    test('is in the message after a lamp was switched, and puts it back', async () => {
      await world.device(LAMP).set('light', 'OnOff', 'OnOff', false);
      await opened.show('home');
      await opened.page.getByRole('switch', { name: `${LAMP} on`, checked: false }).click();
      await expect.poll(isOn).toBe(true);
      await notice(`Turn on ${LAMP}: done`).getByRole('button', { name: 'Undo' }).click();
      await expect.poll(isOn).toBe(false);
      await notice(`Turn on ${LAMP}: undone`).waitFor();
    });

    test('is beside what happened, which then counts as undone; what an agent changed since is not overwritten', async () => {
      const { token } = await world.hub.result('hub:mint_token', { agent_id: 'claude', permissions: ['device:control:living-room-lamp'] });
      const turn = (onOrOff: 'on' | 'off') =>
        fetch(`${world.hub.url}/api/v1/tools/living_room_lamp_turn_${onOrOff}/invoke`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: '{}',
        });
      expect((await turn('on')).status).toBe(200);
      await opened.show('activity');
      await button(`Undo “claude turned on ${LAMP}”`).click();
      await expect.poll(isOn).toBe(false);
      const happened = opened.page.getByRole('list', { name: 'What happened' }).getByRole('listitem');
      const row = happened.filter({ hasText: `claude turned on ${LAMP}` });
      await row.getByText('undone', { exact: true }).waitFor();
      await turn('on');
      await turn('off');
      await turn('on');
      await button(`Undo “claude turned off ${LAMP}”`).click();
      const dialog = opened.page.getByRole('dialog');
      await dialog.getByText(/claude changed the same since, at/).waitFor();
      expect(await dialog.getByRole('button', { name: 'Put it back' }).count()).toBe(0);
      expect(await opened.barriers()).toEqual([]);
      await dialog.getByRole('button', { name: 'Close' }).last().click();
      expect(await isOn()).toBe(true);
    });

    test('of a lock that was locked says what is put back and that people have to approve it', async () => {
      await world.device(DOOR).set('lock', 'DoorLock', 'LockState', UNLOCKED);
      await expect.poll(async () => JSON.stringify(await world.hub.get('/api/v1/devices/front-door'))).toContain('"unlocked"');
      await world.hub.result('front_door_lock', {});
      await expect.poll(lockState).toBe(LOCKED);
      await opened.show('home');
      await opened.show('activity');
      await button(/^Undo “.* locked Front door”$/)
        .first()
        .click();
      const dialog = opened.page.getByRole('dialog');
      await dialog.getByText(/^Front door: .* → /).waitFor();
      await dialog.getByText('People have to approve this before it happens.').waitFor();
      expect(await opened.barriers()).toEqual([]);
      await opened.decide(dialog.getByRole('button', { name: 'Put it back' }));
      await opened.decide(button('Approve and do it'));
      await expect.poll(lockState).toBe(UNLOCKED);
    });

    test('of what cannot be undone has no button, but the reason in its details', async () => {
      const stop = {
        device_id: 'living-room-lamp',
        cluster: 'LevelControl',
        command: 'Stop',
        params: { optionsMask: {}, optionsOverride: {} },
      };
      await world.hub.result('control_matter_device', stop);
      await opened.show('home');
      await opened.show('activity');
      const row = opened.page.getByRole('list', { name: 'What happened' }).getByRole('listitem').first();
      await row.getByText(LAMP).click();
      await row.getByText('This cannot be undone.').waitFor();
      expect(await row.getByRole('button').count()).toBe(0);
    });
  });

  describe('an automation', () => {
    const card = () => opened.page.getByRole('region', { name: 'evening', exact: true });

    const field = (name: string) => opened.page.getByLabel(new RegExp(`^${name}( required)?$`));
    const does = () => opened.page.getByRole('region', { name: 'What it does' });

    test('is written with a form: what is missing stands at its field, the page says what it means and may go wrong, and what is saved runs', async () => {
      await opened.show('new-automation');
      await opened.page.getByRole('textbox', { name: 'Name' }).fill('evening');
      await field('Time').fill('19:30');
      await button('Add another time or event').click();
      await opened.page.getByLabel('Time or event 2: kind').selectOption('somebody comes or leaves');
      await opened.page.getByText('Please fill this in.').waitFor();
      expect(await button('Save').isDisabled()).toBe(true);
      await opened.page.getByRole('searchbox', { name: 'What should it do?' }).fill('turn on the living room lamp');
      await opened.page.getByRole('button', { name: /matter:living_room_lamp_turn_on$/ }).click();
      await does().getByText('the first person comes home').waitFor();
      await button('Check it').click();
      await opened.page.getByRole('status', { name: 'What may go wrong' }).getByText('Nothing was found.').waitFor();
      await opened.page
        .getByRole('status', { name: 'In the past month' })
        .getByText(/It would have run/)
        .waitFor();
      expect(await opened.barriers()).toEqual([]);
      await button('Save').click();
      await card().getByText('every day at 19:30').waitFor();
      await world.device(LAMP).set('light', 'OnOff', 'OnOff', false);
      await world.hub.result('set_presence', { person: 'owner', presence: 'away' });
      await world.hub.result('set_presence', { person: 'owner', presence: 'home' });
      await expect.poll(isOn).toBe(true);
    });

    test('is written with the times and devices that the form shows', async () => {
      await opened.show('new-automation');
      await button('Text (YAML)').click();
      const text = opened.page.getByRole('textbox', { name: 'Text (YAML)' });
      const triggers = '  - { type: reachability, device_id: gone-lamp, becomes: unreachable }\n'.repeat(2);
      const steps = '  - { type: set_flag, flag: late, value: true }\n  - { type: wait, seconds: 120 }\n';
      await text.fill(`trigger:\n${triggers}actions:\n${steps}`);
      await button('Form').click();
      const shown = (box: Locator) => box.locator('option:checked').textContent();
      for (const [index, { id, name }] of [
        { id: 'living-room-lamp', name: LAMP },
        { id: 'front-door', name: DOOR },
      ].entries()) {
        const device = field('Device').nth(index);
        await device.selectOption(id);
        expect(await shown(device)).toContain(name);
      }
      await does().getByText(`${DOOR} cannot be`).waitFor();
      expect(await shown(field('Device').first())).toContain(LAMP);
      expect(await shown(field('Device').nth(1))).toContain(DOOR);
      const unit = (name: string) => opened.page.getByLabel(`Unit of ${name}`);
      const late = field('For at least');
      await unit('For at least').selectOption('hours');
      await late.fill('2');
      await late.blur();
      const pause = field('Time');
      await pause.fill('120');
      await pause.blur();
      expect([await pause.inputValue(), await shown(unit('Time'))]).toEqual(['120', 'minutes']);
      await unit('Time').selectOption('seconds');
      expect([await pause.inputValue(), await shown(unit('Time'))]).toEqual(['120', 'seconds']);
      expect([await late.inputValue(), await shown(unit('For at least'))]).toEqual(['2', 'hours']);
      await button('Text (YAML)').click();
      await expect.poll(() => text.inputValue()).toMatch(/living-room-lamp[\s\S]*front-door[\s\S]*for_seconds: 7200[\s\S]*seconds: 120$/m);
      await opened.page.getByRole('link', { name: 'Automations' }).first().click();
      const question = opened.page.getByRole('dialog', { name: 'Leave without saving?' });
      await question.waitFor();
      expect(await opened.barriers()).toEqual([]);
      await question.getByRole('button', { name: 'Leave without saving' }).click();
      await card().waitFor();
    });

    test('asks before steps are dropped, has cases of a choice, shows tools that almost fit, and goes back from their search', async () => {
      await opened.show('new-automation');
      const kind = opened.page.getByLabel('Step 1: kind');
      const search = opened.page.getByRole('searchbox', { name: 'What should it do?' });
      await search.fill('turn on the sofa lamp');
      await opened.page.getByRole('region', { name: 'Almost' }).getByRole('button').first().waitFor();
      await search.fill('turn on the living room lamp');
      await opened.page.getByRole('button', { name: /matter:living_room_lamp_turn_on$/ }).click();
      await button('Choose another').click();
      await button('Cancel').click();
      await button('Choose another').waitFor();
      await kind.selectOption('do steps only if');
      await button('Add another case').click();
      await button('Remove case 2').click();
      await opened.page.getByRole('group', { name: 'Then' }).getByRole('button', { name: 'Add a step' }).click();
      await kind.selectOption('wait');
      const dialog = opened.page.getByRole('dialog', { name: 'Choose another kind?' });
      await dialog.getByText('The condition or step in it is dropped.').waitFor();
      expect(await opened.barriers()).toEqual([]);
      await dialog.getByRole('button', { name: 'Close' }).click();
      await dialog.waitFor({ state: 'detached' });
      const chosen = () => kind.locator('option:checked').textContent();
      await expect.poll(chosen).toBe('do steps only if');
      await kind.selectOption('ask a person');
      await dialog.getByRole('button', { name: 'Choose it and drop them' }).click();
      await expect.poll(chosen).toBe('ask a person');
      const answers = opened.page.getByRole('group', { name: 'Answers' });
      await answers.getByRole('button', { name: 'Add' }).click();
      await answers.getByRole('button', { name: 'Remove Answers 1' }).click();
      await button('Text (YAML)').click();
      await expect.poll(() => opened.page.getByRole('textbox', { name: 'Text (YAML)' }).inputValue()).not.toContain('answers');
      await opened.page.getByRole('link', { name: 'Automations' }).first().click();
      await opened.page.getByRole('dialog').getByRole('button', { name: 'Leave without saving' }).click();
      await card().waitFor();
    });

    test('is edited as text: a mistake stands at its line, and a permission that it no longer needs is taken away', async () => {
      await card().getByRole('link', { name: 'Edit' }).click();
      await expect.poll(() => field('Time').inputValue()).toBe('19:30');
      await button('Text (YAML)').click();
      const text = opened.page.getByRole('textbox', { name: 'Text (YAML)' });
      await expect.poll(() => text.inputValue()).toContain('19:30');
      const written = (tool: string) => `trigger:\n  - type: time\n    at: "20:15"\nactions:\n  - tool: ${tool}\n`;
      expect(await text.inputValue()).toContain('presence');
      await text.fill(written('matter:living_room_lamp_turn_onn'));
      const problem = opened.page.getByRole('listitem').filter({ hasText: 'living_room_lamp_turn_onn' });
      await problem.getByRole('button', { name: 'Line 5' }).waitFor();
      expect(await button('Save').isDisabled()).toBe(true);
      await text.fill(written('matter:living_room_lamp_turn_on'));
      await button('Take out presence:read').click();
      await does().getByText('presence:read').waitFor({ state: 'detached' });
      expect(await opened.barriers()).toEqual([]);
      await button('Save').click();
      await card().getByText('every day at 20:15').waitFor();
      const { permissions } = await world.hub.result('show_automation', { agent_id: 'evening' });
      expect(permissions).toEqual(['device:control:living-room-lamp']);
    });

    test('has versions, of which an earlier one is brought back', async () => {
      await card().getByRole('button', { name: 'Versions' }).click();
      const dialog = opened.page.getByRole('dialog');
      await dialog.getByText('trigger › 0 › at: 19:30 → 20:15').waitFor();
      expect(await opened.barriers()).toEqual([]);
      await dialog.getByRole('button', { name: 'Bring back version 1 of evening' }).click();
      await dialog.getByText('Version 1 instead of 2? A run in progress stops.').waitFor();
      await dialog.getByRole('button', { name: 'Yes, bring back' }).click();
      await notice('Version 1 is back, as version 3.').waitFor();
      await card().getByText('every day at 19:30').waitFor();
    });

    test('says why it did not run, lately and at a moment', async () => {
      await card().getByRole('button', { name: 'Why' }).click();
      const dialog = opened.page.getByRole('dialog', { name: 'Why evening ran or not' });
      await dialog
        .getByText(/^It ran at .*: all its steps were done\.$/)
        .first()
        .waitFor();
      const hourAgo = new Date(Date.now() - 60_000 * (60 + new Date().getTimezoneOffset()));
      await dialog.getByLabel('At this time (empty: lately)').fill(hourAgo.toISOString().slice(0, 16));
      await dialog.getByRole('button', { name: 'Ask why' }).click();
      await dialog
        .getByText(/^It (was not set off|did not run) .* because /)
        .first()
        .waitFor();
      expect(await opened.barriers()).toEqual([]);
      await opened.page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    });
  });

  test('what an agent proposes is shown with its words and what it would do; once it is accepted, it runs', async () => {
    const permissions = ['presence:read', 'device:control:living-room-lamp'];
    const { token } = await world.hub.result('hub:mint_token', { agent_id: 'claude', permissions: ['agent:propose', ...permissions] });
    const proposal = {
      name: 'welcome',
      sentence: 'It greets you with light.',
      config: {
        trigger: { type: 'presence', becomes: 'away', person: 'owner' },
        actions: [{ tool: 'living_room_lamp_set_brightness', params: { brightness: 40 } }],
      },
      permissions,
    };
    await opened.show('automations');
    const response = await fetch(`${world.hub.url}/api/v1/tools/propose_automation/invoke`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(proposal),
    });
    expect(await response.json()).toMatchObject({ status: 'success' });
    const card = opened.page.getByRole('article', { name: 'Proposal welcome' });
    await card.getByText('In the words of claude, not of the hub:').waitFor();
    await card.getByText('owner leaves').waitFor();
    await card.getByText(/\(Brightness 40 %\)$/).waitFor();
    await card.getByText('Nothing was found.').waitFor();
    await card
      .getByRole('status', { name: 'In the past month' })
      .getByText(/It would have run/)
      .waitFor();
    expect(await opened.barriers()).toEqual([]);
    await opened.decide(card.getByRole('button', { name: 'Accept' }));
    await notice('welcome runs from now on.').waitFor();
    await card.waitFor({ state: 'detached' });
    await world.hub.result('set_presence', { person: 'owner', presence: 'home' });
    await world.device(LAMP).set('light', 'OnOff', 'OnOff', false);
    await world.hub.result('set_presence', { person: 'owner', presence: 'away' });
    await expect.poll(isOn).toBe(true);
  });

  test('who is at home is set on the page, and a mode of the house is ended there', async () => {
    await world.hub.result('set_flag', { flag: 'vacation_mode', value: true });
    await opened.show('people');
    await button('Owner is at home').click();
    await opened.page.getByRole('button', { name: 'Owner is at home', pressed: true }).waitFor();
    expect((await world.hub.result('list_presence')).people).toMatchObject([{ person: 'owner', presence: 'home' }]);
    await button('End the mode vacation mode').click();
    await opened.page.getByText('No mode is set.').waitFor();
    expect((await world.hub.result('list_flags')).flags).toEqual([]);
  });

  test('and the browser had nothing to complain about', () => {
    expect(opened.complaints).toEqual([]);
  });
});
