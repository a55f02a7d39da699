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

  test('and the browser had nothing to complain about', () => {
    expect(opened.complaints).toEqual([]);
  });
});
