import { ManualPairingCodeCodec } from '@matter/main/types';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_HINT } from '../../../scripts/browser/chromium.ts';
import { THREAD_DATASET } from '../../matter/thread-dataset.ts';
import { HAS_CHROMIUM } from './chromium.ts';
import type { OpenPage } from './open-page.ts';
import { PageWorld } from './page-world.ts';

const TYPED = 'Living room lamp';
const SEEN = 'Hall light';
const STUBBORN = 'Desk plug';

describe.skipIf(!HAS_CHROMIUM)(`adding a device at the page${HAS_CHROMIUM ? '' : `: ${CHROMIUM_HINT}`}`, () => {
  let world: PageWorld;
  let opened: OpenPage;

  beforeAll(async () => {
    world = await PageWorld.start({ devices: [], waiting: [TYPED, SEEN, STUBBORN] });
    opened = await world.open();
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const fabricsOf = (name: string) => world.device(name).get(0, 'OperationalCredentials', 'CommissionedFabrics');
  const stateOf = async (step: string) => opened.page.locator(`[data-step=${step}]`).getAttribute('class');

  test('a home without devices says how to add the first one', async () => {
    await opened.show('home');
    await opened.page.getByRole('heading', { name: 'No devices yet' }).waitFor();
    expect(await opened.barriers()).toEqual([]);
    await opened.page.getByRole('main').getByRole('link', { name: 'Add a device' }).click();
    await opened.page.getByLabel('Setup code').waitFor();
  });

  test('a code with a slip of the finger is told before the hub is asked', async () => {
    await opened.show('add-device');
    const { manualCode } = world.device(TYPED).pairing;
    const wrong = `${(Number(manualCode[0]) + 1) % 8}${manualCode.slice(1)}`;
    await opened.page.getByLabel('Setup code').fill(wrong);
    await opened.page.getByRole('button', { name: 'Add it' }).click();
    await opened.page.getByRole('alert').getByText('One digit is wrong').waitFor();
    expect(await opened.page.getByLabel('Setup code').getAttribute('aria-invalid')).toBe('true');
    expect(await fabricsOf(TYPED)).toBe(0);
  });

  test('the digits on the box bring it in, with its name and room, step by step', async () => {
    await opened.page.getByLabel('Setup code').fill(spaced(world.device(TYPED).pairing.manualCode));
    await opened.page.getByRole('textbox', { name: 'Name', exact: true }).fill('Sofa lamp');
    await opened.page.getByLabel('Room').fill('Living room');
    await opened.page.getByRole('button', { name: 'Add it' }).click();
    await opened.page.getByRole('heading', { name: 'The device is here' }).waitFor({ timeout: 40_000 });
    for (const step of ['parse', 'discover', 'connect', 'attest', 'join', 'interview', 'record', 'done'])
      expect(await stateOf(step)).toBe('done');
    expect(await fabricsOf(TYPED)).toBe(1);
    expect(await world.hub.get('/api/v1/devices')).toMatchObject({ devices: [{ name: 'Sofa lamp', area: 'Living room' }] });
    const findings = opened.page.getByRole('group', { name: 'What could not be proved' });
    expect(await findings.textContent()).toContain('trust could not be checked offline');
    await opened.page.getByRole('link', { name: 'Sofa lamp' }).click();
    await opened.page.waitForURL(/#\/devices\//);
  });

  test('what the camera sees is taken over and brings it in', async () => {
    world.holdIntoCamera(world.device(SEEN).pairing.qrCode);
    await opened.show('add-device');
    await opened.page.getByRole('button', { name: 'Scan the QR code' }).click();
    await expect.poll(() => opened.page.getByLabel('Setup code').inputValue(), { timeout: 20_000 }).toBe(world.device(SEEN).pairing.qrCode);
    expect(await opened.page.locator('video').count()).toBe(0);
    await opened.page.getByRole('button', { name: 'Add it' }).click();
    await opened.page.getByRole('heading', { name: 'The device is here' }).waitFor({ timeout: 40_000 });
    expect(await fabricsOf(SEEN)).toBe(1);
  });

  test('a code of another device says where it failed, why, and what to do', async () => {
    await opened.show('add-device');
    await opened.page.getByRole('button', { name: 'Add another' }).click();
    const { discriminator } = world.device(STUBBORN).pairing;
    await opened.page.getByLabel('Setup code').fill(ManualPairingCodeCodec.encode({ discriminator, passcode: 11_223_344 }));
    await opened.page.getByRole('button', { name: 'Add it' }).click();
    const alert = opened.page.getByRole('alert').filter({ hasText: 'The code is not the one of this device.' });
    await alert.waitFor({ timeout: 40_000 });
    expect(await alert.textContent()).toContain('Check the code on the device');
    expect(await stateOf('connect')).toBe('failed');
    expect(await stateOf('join')).toBe('waiting');
    expect(await fabricsOf(STUBBORN)).toBe(0);
  });

  test('a network for new devices is stored under its name, its password never shown again', async () => {
    await opened.page.getByRole('heading', { name: 'Networks for new devices' }).click();
    const form = opened.page.getByRole('form', { name: 'Wi-Fi' });
    await form.getByLabel('Name of the set').fill('home');
    await form.getByLabel('Network', { exact: true }).fill('Casa');
    await form.getByLabel('Password').fill(' open sesame ');
    await form.getByRole('button', { name: 'Store' }).click();
    await opened.page.getByRole('option', { name: 'Wi-Fi Casa (home)' }).waitFor({ state: 'attached' });
    expect(await world.hub.result('hub:list_credentials')).toMatchObject([{ name: 'home', kind: 'wifi', network: 'Casa' }]);
    await opened.page.getByRole('button', { name: 'Remove home' }).click();
    await opened.page.getByRole('option', { name: 'Wi-Fi Casa (home)' }).waitFor({ state: 'detached' });
    expect(await world.hub.result('hub:list_credentials')).toEqual([]);
  });

  test('a Thread network is stored by its dataset, and a slip in it is told', async () => {
    const form = opened.page.getByRole('form', { name: 'Thread' });
    await form.getByLabel('Name of the set').fill('border');
    await form.getByLabel('Operational dataset').fill('0e08');
    await form.getByRole('button', { name: 'Store' }).click();
    await opened.page.locator('.notice.bad').waitFor();
    expect(await world.hub.result('hub:list_credentials')).toEqual([]);
    // A browser writes each refused request to its console, this one too.
    expect(opened.complaints.splice(0)).toEqual([expect.stringContaining('set_thread_credentials/invoke')]);
    await form.getByLabel('Operational dataset').fill(THREAD_DATASET);
    await form.getByRole('button', { name: 'Store' }).click();
    await opened.page.getByRole('option', { name: 'Thread ProbeThread (border)' }).waitFor({ state: 'attached' });
    expect(await world.hub.result('hub:list_credentials')).toMatchObject([{ name: 'border', kind: 'thread', network: 'ProbeThread' }]);
  });

  test('and the browser had nothing to complain about', () => {
    expect(opened.complaints).toEqual([]);
  });
});

/** As it is printed on boxes. */
function spaced(digits: string): string {
  return `${digits.slice(0, 4)}-${digits.slice(4, 7)}-${digits.slice(7)}`;
}
