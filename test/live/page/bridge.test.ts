import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_HINT } from '../../../scripts/browser/chromium.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { BareController } from '../../home/bare-controller.ts';
import { HAS_CHROMIUM } from './chromium.ts';
import type { OpenPage } from './open-page.ts';
import { PageWorld } from './page-world.ts';
import { LOCALES, SPOKEN, type Spoken, wordsIn } from './spoken.ts';

const OUTPUTS = { pump: { line: 'GPIO27', title: 'Pump' }, siren: { line: 'GPIO22', title: 'Siren', risk: 'dangerous' } };

describe.skipIf(!HAS_CHROMIUM)(`what other apps see${HAS_CHROMIUM ? '' : `: ${CHROMIUM_HINT}`}`, () => {
  let world: PageWorld;
  let controller: BareController;

  beforeAll(async () => {
    const sensors = { discover: false, gpio: { backend: 'sim', outputs: OUTPUTS } };
    world = await PageWorld.start({ devices: [], config: { sensors } });
    controller = await BareController.start(join(world.stateDir, '../controller'));
  }, 120_000);
  afterAll(async () => {
    await controller?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const things = async () => ((await world.hub.result('hub:list_bridged')) as { readonly things: readonly JsonObject[] }).things;

  /** Presses a button, and agrees where the page asks, until the page shows what it should. */
  async function press({ page, decide }: Pick<OpenPage, 'page' | 'decide'>, button: Locator, [agree, shown]: readonly [string, Locator]) {
    await button.click();
    const question = page.getByRole('button', { name: agree, exact: true });
    await question.or(shown).first().waitFor();
    if (await question.isVisible()) await decide(question);
    await shown.waitFor();
  }

  test.for(SPOKEN)('are chosen, connected, disconnected and taken away on the page in %s', async (language: Spoken, { expect }) => {
    const say = wordsIn(language);
    await using opened = await world.open('phone', world.ownerLogin(), LOCALES[language]);
    const { page } = opened;
    const decide = (button: Locator) => opened.decide(button);
    const agree = say('approvals.approve_and_do');
    await opened.show('settings');
    const section = page.getByRole('region', { name: say('settings.bridge') });
    await section.getByText(say('settings.no_ecosystems')).waitFor();

    await section.getByLabel(say('settings.bridge_add')).selectOption({ label: `Pump (${say('settings.bridge_output')})` });
    const hide = section.getByRole('button', { name: say('settings.bridge_remove', { name: 'Pump' }) });
    await press({ page, decide }, section.getByRole('button', { name: say('settings.bridge_add_button'), exact: true }), [agree, hide]);
    expect(await things()).toMatchObject([{ thing: 'output/pump', kind: 'plug' }]);
    expect(await opened.barriers()).toEqual([]);
    expect(await opened.overflowPixels()).toBe(0);

    const code = page.getByRole('img', { name: say('devices.share_qr', { name: say('settings.bridge_name') }) });
    await press({ page, decide }, section.getByRole('button', { name: say('settings.bridge_open') }), [agree, code]);
    await code.locator('svg').waitFor();
    expect(await opened.barriers()).toEqual([]);
    const manualCode = await page.getByRole('dialog').locator('strong.number').textContent();
    await controller.commission({ manualCode: String(manualCode).replace(/\D/g, '') });
    await page.keyboard.press('Escape');

    const disconnect = section.getByRole('button', { name: say('settings.ecosystem_remove', { name: 'Bare' }) });
    await disconnect.waitFor();
    expect(await opened.barriers()).toEqual([]);
    await press({ page, decide }, disconnect, [agree, section.getByText(say('settings.no_ecosystems'))]);
    expect(await world.hub.result('hub:list_ecosystems')).toEqual({ ecosystems: [] });

    await hide.click();
    await hide.waitFor({ state: 'detached' });
    expect(await things()).toEqual([]);
    expect(opened.complaints).toEqual([]);
  });

  test('show a dangerous output only when the owner says so', async () => {
    const say = wordsIn('en');
    await using opened = await world.open();
    const { page } = opened;
    const decide = (button: Locator) => opened.decide(button);
    await opened.show('settings');
    const section = page.getByRole('region', { name: say('settings.bridge') });
    const show = section.getByRole('button', { name: say('settings.bridge_add_button'), exact: true });
    const choose = () => section.getByLabel(say('settings.bridge_add')).selectOption({ label: `Siren (${say('settings.bridge_output')})` });
    await choose();
    await press({ page, decide }, show, [say('approvals.approve_and_do'), page.getByText(/^Siren can be dangerous/).first()]);
    expect((await things()).map(({ thing }) => thing)).not.toContain('output/siren');
    await choose();
    await section.getByLabel(say('settings.bridge_dangerous')).check();
    const hide = section.getByRole('button', { name: say('settings.bridge_remove', { name: 'Siren' }) });
    await press({ page, decide }, show, [say('approvals.approve_and_do'), hide]);
    expect((await things()).map(({ thing }) => thing)).toContain('output/siren');
  });
});
