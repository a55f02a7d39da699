import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_HINT } from '../../../scripts/browser/chromium.ts';
import { buildPage } from '../../../scripts/build-page.ts';
import { ROOT } from '../../../scripts/bundle.ts';
import { writeServiceWorker } from '../../../scripts/page/app-files.ts';
import { MAIN } from '../main-program.ts';
import { HAS_CHROMIUM } from './chromium.ts';
import type { OpenPage } from './open-page.ts';
import { PageWorld } from './page-world.ts';

const INVITATION = '0123456789abcdefghjkmnpqrs';
const CONTROLLED = 'navigator.serviceWorker.controller?.state';

/** A program of its own with a page of its own, which the test can replace by another build. */
async function ownProgram(root: string): Promise<string> {
  const folder = join(root, '.run/programs/main');
  cpSync(dirname(MAIN), folder, { recursive: true });
  for (const name of ['node_modules', 'device-profiles', 'package.json']) symlinkSync(join(ROOT, name), join(root, name));
  await buildPage(join(root, 'dist/page'));
  return join(folder, 'main.mjs');
}

/** Puts another build in the place of a page: its main script has another name and content, and the old one is gone. */
async function replaceBuild(page: string): Promise<void> {
  const assets = join(page, 'assets');
  const [script = ''] = readdirSync(assets).filter((name) => /^main-[A-Z0-9]{8}\.js$/.test(name));
  const next = 'main-NEWBUILD.js';
  writeFileSync(join(assets, next), `${readFileSync(join(assets, script), 'utf8')}\nwindow.isNewBuild = true;\n`);
  for (const name of readdirSync(assets).filter((one) => one.startsWith(script))) rmSync(join(assets, name));
  for (const name of ['index.html', 'service-worker.js']) for (const ending of ['.br', '.gz']) rmSync(join(page, `${name}${ending}`));
  await writeServiceWorker(
    page,
    readdirSync(assets).filter((name) => !/\.(?:br|gz)$/.test(name)),
  );
  writeFileSync(join(page, 'index.html'), readFileSync(join(page, 'index.html'), 'utf8').replaceAll(script, next));
}

describe.skipIf(!HAS_CHROMIUM)(`a new build of the page${HAS_CHROMIUM ? '' : `: ${CHROMIUM_HINT}`}`, () => {
  const root = mkdtempSync(join(tmpdir(), 'atmo-build-'));
  let world: PageWorld;
  let opened: OpenPage;

  beforeAll(async () => {
    world = await PageWorld.start({ devices: [], program: await ownProgram(root) });
    opened = await world.open();
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
    rmSync(root, { recursive: true, force: true });
  });

  const isNew = () => opened.page.evaluate('window.isNewBuild === true');

  test('is announced and not loaded while somebody types or has a link open, and is loaded once when the person goes on', async () => {
    // The first worker of this browser controls the page that registered it.
    await expect.poll(() => opened.page.evaluate(CONTROLLED)).toBe('activated');
    let loads = 0;
    opened.page.on('load', () => loads++);
    await opened.show('settings');
    const passphrase = opened.page.getByLabel(/^Passphrase/);
    await passphrase.fill('five words that nobody');
    await replaceBuild(join(root, 'dist/page'));
    await world.killHub();
    await world.reviveHub();
    const note = opened.page.getByText('There is a new version of this page.');
    await note.waitFor();
    expect(await opened.barriers()).toEqual([]);
    expect([await isNew(), await passphrase.inputValue(), loads]).toEqual([false, 'five words that nobody', 0]);
    await opened.page.evaluate(`location.hash = '#invite=${INVITATION}'`);
    const invited = opened.page.getByRole('heading', { name: 'You are invited' });
    await invited.waitFor();
    await opened.page.evaluate("location.hash = '#/people'");
    await expect.poll(() => opened.page.title()).toContain('People');
    expect([await isNew(), await invited.count(), loads]).toEqual([false, 1, 0]);
    await opened.page.getByRole('button', { name: 'Stay as I am' }).click();
    await opened.page.getByRole('heading', { level: 1, name: 'People' }).waitFor();
    await opened.page.getByRole('link', { name: 'Activity' }).click();
    await expect.poll(isNew).toBe(true);
    await opened.page.getByRole('heading', { level: 1, name: 'Activity' }).waitFor();
    await opened.settled();
    expect([opened.page.url().endsWith('#/activity'), await note.count(), loads]).toEqual([true, 0, 1]);
  });

  test('is what the page opens with when the hub is away, and nothing of the old build is kept', async () => {
    await expect.poll(() => opened.page.evaluate(CONTROLLED)).toBe('activated');
    const kept = (await opened.page.evaluate(`caches.keys().then((names) => Promise.all(names.map((name) => caches.open(name))))
      .then((all) => Promise.all(all.map((cache) => cache.keys()))).then((all) => all.flat().map(({ url }) => new URL(url).pathname))`)) as readonly string[];
    expect(kept.filter((path) => /main-/.test(path))).toEqual(['/assets/main-NEWBUILD.js']);
    await world.killHub();
    try {
      await opened.page.reload();
      await opened.page.getByRole('heading', { name: 'The hub cannot be reached' }).waitFor();
      expect(await isNew()).toBe(true);
    } finally {
      await world.reviveHub();
    }
  });
});
