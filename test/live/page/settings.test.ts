import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_HINT } from '../../../scripts/browser/chromium.ts';
import { stateArchive } from '../../../src/hub/offline/backup.ts';
import { HAS_CHROMIUM } from './chromium.ts';
import type { OpenPage } from './open-page.ts';
import { PageWorld } from './page-world.ts';

const PASSPHRASE = 'five words that nobody guesses';
const LAMP = 'Living room lamp';

describe.skipIf(!HAS_CHROMIUM)(`automations and settings${HAS_CHROMIUM ? '' : `: ${CHROMIUM_HINT}`}`, () => {
  let world: PageWorld;
  let opened: OpenPage;
  const elsewhere = mkdtempSync(join(tmpdir(), 'atmo-restored-'));

  beforeAll(async () => {
    world = await PageWorld.start({ devices: [LAMP] });
    await world.hub.result('spawn_agent', {
      agent_type: 'automation',
      name: 'blink',
      permissions: ['device:control:living-room-lamp'],
      config: {
        trigger: { type: 'every', seconds: 10 },
        actions: [{ tool: 'turn_on_light', params: { device_id: 'living-room-lamp' } }],
        max_runs_per_hour: 3_600,
      },
    });
    opened = await world.open();
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
    rmSync(elsewhere, { recursive: true, force: true });
  });

  const automation = async () => {
    const { agents } = (await world.hub.result('list_agents', {})) as { readonly agents: readonly Record<string, unknown>[] };
    return agents[0];
  };

  test('an automation is turned off and on by keyboard, and its end is chosen', async () => {
    await opened.show('automations');
    const card = opened.page.locator('[data-automation="blink"]');
    await card.getByText('every 10 seconds').waitFor();
    await card.getByText(`: ${LAMP}`).waitFor();
    await card.getByRole('switch', { name: 'blink runs' }).focus();
    await opened.page.keyboard.press('Enter');
    await expect.poll(automation).toMatchObject({ status: 'disabled' });
    await card.getByText('off', { exact: true }).waitFor();
    expect(await opened.barriers()).toEqual([]);
    await card.getByRole('switch', { name: 'blink runs' }).focus();
    await opened.page.keyboard.press('Space');
    await expect.poll(automation).toMatchObject({ status: 'active', renews_itself: true });
    await card.getByRole('button', { name: 'Change the end' }).click();
    const dialog = opened.page.getByRole('dialog');
    await dialog.getByLabel('Ends in').selectOption('30');
    expect(await opened.barriers()).toEqual([]);
    await dialog.getByRole('button', { name: 'Change the end' }).click();
    await expect.poll(async () => (await automation())?.renews_itself ?? false).toBe(false);
  });

  test('a backup is made from the page, and restores', async () => {
    await opened.show('settings');
    const backups = opened.page.getByRole('region', { name: 'Backups' });
    await backups.getByLabel('Every day at').fill('03:30');
    await backups.getByLabel(/^Passphrase/).fill(PASSPHRASE);
    await backups.getByRole('button', { name: 'Save' }).click();
    await backups.getByText('Every day at 03:30;').waitFor();
    await backups.getByRole('button', { name: 'Make a backup now' }).click();
    const file = await backups
      .locator('code', { hasText: /\.atmo$/ })
      .first()
      .textContent();
    const stateDir = join(elsewhere, 'state');
    const report = await stateArchive({ ATMO_STATE_DIR: stateDir }).restore({ stateDir, file: file ?? '', passphrase: PASSPHRASE });
    expect(report.hub).toMatch(/^hub-/);
  });

  test('the health of the hub is shown with what to do', async () => {
    const health = opened.page.getByRole('region', { name: 'Health' });
    await health.getByText(/things? are well|thing is well/).waitFor();
    await health.getByRole('button', { name: 'Check again' }).click();
    await health.getByText(/→ .*backup\.folder/).waitFor();
    expect(await opened.barriers()).toEqual([]);
    expect(await opened.overflowPixels()).toBe(0);
    expect(opened.complaints).toEqual([]);
  });

  test('the version of the hub and the software of devices are shown, and that the hub asks nobody for newer versions', async () => {
    const updates = opened.page.getByRole('region', { name: 'Updates' });
    await updates.getByText(/^The hub runs version \d+\.\d+\.\d+/).waitFor();
    await updates.getByText('The hub does not look for newer versions.', { exact: false }).waitFor();
    await updates.getByText('No newer software for a device lies in', { exact: false }).waitFor();
  });

  test('the certificate is shown with who issued it, and with why it was not renewed; a proxy has its own', async () => {
    await using opened = await world.open('light');
    const problem = 'The certificate for hub.example.org could not be renewed: no such zone';
    const facts = {
      enabled: true,
      names: ['hub.example.org'],
      fingerprint_sha256: 'AB:CD',
      certificate_ends_at: '2030-03-01T00:00:00.000Z',
    };
    const url = 'https://hub.example.org';
    const section = opened.page.getByRole('region', { name: 'Certificate' });
    const shows = async (answer: object, said: string | RegExp) => {
      await opened.page.unroute('**/api/v1/tls');
      await opened.page.route('**/api/v1/tls', (route) => route.fulfill({ json: answer }));
      await opened.show('people');
      await section.waitFor({ state: 'detached' });
      await opened.show('settings');
      await section.getByText(said).waitFor();
    };
    await shows({ ...facts, url, source: 'acme', issuer: 'An Authority R1' }, 'An Authority R1');
    expect(await section.getByText(/could not|There are these ways/).count()).toBe(0);
    await shows({ ...facts, url, source: 'acme', issuer: 'An Authority R1', problem }, problem);
    expect(await opened.barriers()).toEqual([]);
    await shows({ ...facts, url, source: 'own_authority', issuer: 'the hub' }, /There are these ways/);
    await shows({ enabled: true, url, source: 'proxy' }, `reached at ${url}, through a reverse proxy`);
  });

  test('whoever does not administrate the hub sees no backups and no health', async () => {
    const { token } = await world.hub.result('hub:mint_token', { agent_id: 'guest', permissions: ['device:read:*'] });
    await using guest = await world.open('light', { token: String(token) });
    await guest.show('settings');
    await guest.page.getByRole('region', { name: 'Certificate' }).waitFor();
    expect(await guest.page.getByRole('region', { name: /Backups|Health|Updates/ }).count()).toBe(0);
  });
});
