import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_HINT } from '../../../scripts/browser/chromium.ts';
import { RunningHub } from '../running-hub.ts';
import { HAS_CHROMIUM } from './chromium.ts';
import { OpenPage } from './open-page.ts';
import { PageWorld } from './page-world.ts';

const PASSPHRASE = 'correct horse battery staple';

describe.skipIf(!HAS_CHROMIUM)(`two hubs at the page${HAS_CHROMIUM ? '' : `: ${CHROMIUM_HINT}`}`, () => {
  let world: PageWorld;
  let opened: OpenPage;
  let shed: RunningHub;
  let dir: string;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'shed-'));
    world = await PageWorld.start({ devices: [], config: { mesh: { name: 'house' } } });
    shed = await RunningHub.start({
      stateDir: join(dir, 'state'),
      config: { mesh: { name: 'shed', port: 8092 }, matter: { enabled: false } },
    });
    await world.hub.result('hub:mesh_create', { passphrase: PASSPHRASE, name: 'home' });
    opened = await world.open();
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await shed?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true, force: true });
  });

  test('a hub joins at its own page with the invite of another, and both pages show the other one', async () => {
    await opened.show('mesh');
    await opened.page.getByRole('button', { name: 'Make an invite' }).click();
    const invite = opened.page.getByRole('group', { name: 'Invite', exact: true });
    await invite.waitFor();
    await using other = await OpenPage.open(world.browser, { url: shed.url, login: world.ownerLogin(join(dir, 'state')) });
    await other.show('mesh');
    await other.page.getByLabel('Invite').fill(String(await invite.textContent()));
    await other.page.getByRole('button', { name: 'Join', exact: true }).click();
    const house = other.page.getByRole('listitem').filter({ hasText: 'house' });
    await expect
      .poll(
        other.agreeing(() => house.isVisible()),
        { timeout: 30_000 },
      )
      .toBe(true);
    const row = opened.page.getByRole('listitem').filter({ hasText: 'shed' });
    await row.waitFor({ timeout: 30_000 });
    await opened.page.getByRole('img', { name: 'This hub and 1 other, of which 1 can be reached' }).waitFor({ timeout: 30_000 });
    expect(await opened.page.locator('.mesh-map .hub').count()).toBe(2);
    expect(await opened.barriers()).toEqual([]);
    expect(other.complaints).toEqual([]);
  });

  test('and is put out of it at the page', async () => {
    await opened.page.getByRole('button', { name: 'Revoke shed' }).click();
    const dialog = opened.page.getByRole('dialog', { name: 'Revoke shed?' });
    await dialog.getByLabel('Passphrase of the root key').fill(PASSPHRASE);
    await dialog.getByRole('button', { name: 'Revoke shed' }).click();
    const state = opened.agreeing(() => shed.get('/api/v1/mesh'));
    await expect.poll(state, { timeout: 30_000 }).toMatchObject({ state: 'revoked' });
    await opened.page.getByText('No other hub has joined yet. Invite one.').waitFor({ timeout: 30_000 });
  });
});
