import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_HINT } from '../../../scripts/browser/chromium.ts';
import { HAS_CHROMIUM } from './chromium.ts';
import type { OpenPage } from './open-page.ts';
import { PageWorld } from './page-world.ts';

const LEAK = 'Leak detector';

describe.skipIf(!HAS_CHROMIUM)(`notices on the page${HAS_CHROMIUM ? '' : `: ${CHROMIUM_HINT}`}`, () => {
  let world: PageWorld;
  let opened: OpenPage;

  beforeAll(async () => {
    world = await PageWorld.start({ devices: [LEAK] });
    opened = await world.open('phone');
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const leaks = (isLeaking: boolean) => world.device(LEAK).set('leak', 'BooleanState', 'StateValue', isLeaking);
  const badge = () => opened.page.getByRole('link', { name: /^Notices/ }).locator('.badge');
  const rules = async () => ((await world.hub.get('/api/v1/notices/settings')) as { readonly rules: readonly unknown[] }).rules;

  test('water is told at once: the navigation counts it, the list says what lasts, and a tap shows the device', async () => {
    await opened.show('home');
    expect(await badge().count()).toBe(0);
    await leaks(true);
    await badge().getByText('1').waitFor();
    await opened.show('notices');
    const item = opened.page.locator('[data-kind="leak"]');
    await item.getByText('danger', { exact: true }).waitFor();
    await item.getByText('new', { exact: true }).waitFor();
    expect(await opened.barriers()).toEqual([]);
    expect(await opened.overflowPixels()).toBe(0);
    await item.getByRole('link').click();
    await opened.page.waitForURL(/#\/devices\/leak-detector$/);
    await badge().waitFor({ state: 'detached' });
  });

  test('what has ended says so without a reload, and is left out where only what lasts is wanted', async () => {
    await opened.show('notices');
    await leaks(false);
    const item = opened.page.locator('[data-kind="leak"]');
    await item.getByText(/· over, /).waitFor();
    await opened.page.getByLabel('Only what still lasts').check();
    await item.waitFor({ state: 'detached' });
    await opened.page.getByText('No notice is like that.').waitFor();
    await opened.page.getByLabel('Only what still lasts').uncheck();
    await leaks(true);
    await badge().getByText('1').waitFor();
    await opened.page.getByRole('button', { name: 'Mark all as read' }).click();
    await badge().waitFor({ state: 'detached' });
  });

  test('a question is answered with a button, and its notice then says who answered what', async () => {
    const asked = await world.hub.result('hub:ask_person', { question: 'Warm the bath?', answers: ['yes', 'later'], timeout_seconds: 600 });
    await opened.show('notices');
    const item = opened.page.locator('[data-kind="question"]');
    await item.getByText(/Warm the bath\? \(yes \/ later\)/).waitFor();
    await item.getByRole('button', { name: 'later' }).waitFor();
    expect(await opened.barriers()).toEqual([]);
    expect(await opened.overflowPixels()).toBe(0);
    await item.getByRole('button', { name: 'Yes' }).click();
    await item.getByText('owner answered: Yes').waitFor();
    expect(await item.getByRole('button').count()).toBe(0);
    const { question_id: id } = asked;
    expect(await world.hub.result('hub:show_question', { question_id: String(id) })).toMatchObject({ answer: 'yes', answered_by: 'owner' });
  });

  test('a person chooses on the page how to be told, and takes a rule back', async () => {
    await opened.show('settings');
    const reach = opened.page.getByRole('region', { name: 'How you are reached' });
    await reach.getByText('Add a rule').click();
    await reach.getByLabel('Low batteries').check();
    await reach.getByLabel('Updates').check();
    await reach.getByLabel('From').fill('22:00');
    await reach.getByLabel('To', { exact: true }).fill('07:00');
    expect(await opened.barriers()).toEqual([]);
    await reach.getByRole('button', { name: 'Save' }).click();
    await reach.getByText('not told before 07:00').waitFor();
    await expect.poll(rules).toEqual([{ kinds: ['battery', 'update'], from: '22:00', to: '07:00', ways: [] }]);
    await reach.getByLabel('browsers and apps').check();
    await reach.getByRole('button', { name: 'Save' }).click();
    await reach.getByText('by browsers and apps').waitFor();
    await expect.poll(rules).toMatchObject([{ ways: ['push'] }, { from: '22:00' }]);
    await reach.getByRole('button', { name: /^Remove the rule: Low batteries, Updates/ }).click();
    await expect.poll(rules).toEqual([{ ways: ['push'] }]);
    expect(await opened.overflowPixels()).toBe(0);
  });

  test('the owner chooses how long requests wait; a longer wait is agreed to by people', async () => {
    const waits = opened.page.getByRole('region', { name: 'How long requests for approval wait' });
    const stored = async () => await world.hub.result('hub:show_approval_waits');
    await waits.getByLabel('Devices').fill('5');
    await waits.getByRole('button', { name: 'Save' }).click();
    await expect.poll(stored).toMatchObject({ devices: 5 });
    await opened.page.getByText('Saved.').first().waitFor();
    await waits.getByLabel('Devices').fill('60');
    await waits.getByRole('button', { name: 'Save' }).click();
    await opened.decide(opened.page.getByRole('button', { name: 'Approve and do it' }));
    await expect.poll(stored).toMatchObject({ devices: 60 });
  });

  test('a child, who is told of nothing, is offered no notices, and sees nothing that only the owner sets', async () => {
    await world.hub.result('hub:add_person', { name: 'tim', title: 'Tim', role: 'child' });
    const { code } = await world.hub.result('hub:invite_person', { name: 'tim' });
    await using child = await world.openSignedOut('phone');
    await child.page.goto(`${world.hub.url}/#invite=${String(code)}`);
    await child.page.getByRole('button', { name: 'Sign in on this device' }).click();
    await child.page.getByRole('link', { name: 'Home' }).first().waitFor();
    await child.page.getByRole('link', { name: /^Notices/ }).waitFor({ state: 'detached' });
    await child.show('notices');
    await child.page.getByRole('heading', { name: 'Nothing to tell' }).waitFor();
    await child.show('settings');
    await child.page.getByRole('region', { name: 'Certificate' }).waitFor();
    expect(await child.page.getByRole('region', { name: /reached|requests for approval wait|Backups|Health/ }).count()).toBe(0);
    expect(await child.barriers()).toEqual([]);
  });

  test('and the browser had nothing to complain about', () => {
    expect(opened.complaints).toEqual([]);
  });
});
