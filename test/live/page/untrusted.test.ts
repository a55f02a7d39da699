import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_HINT } from '../../../scripts/browser/chromium.ts';
import { HAS_CHROMIUM } from './chromium.ts';
import { OpenPage } from './open-page.ts';
import { PageWorld } from './page-world.ts';

const NAME = 'hub.home.arpa';
/** Address of the hub's host in the private network. */
const ADDRESS = '10.77.0.1';
const DOOR = 'Front door';

describe.skipIf(!HAS_CHROMIUM)(`a certificate that the browser does not trust${HAS_CHROMIUM ? '' : `: ${CHROMIUM_HINT}`}`, () => {
  let world: PageWorld;
  let owner: OpenPage;
  let phone: OpenPage;

  beforeAll(async () => {
    const config = { http: { host: '0.0.0.0', tls: { names: [NAME] } } };
    world = await PageWorld.start({ devices: [DOOR], config, names: { [NAME]: ADDRESS } });
    owner = await world.open();
    const { port } = new URL(world.hub.url);
    phone = await OpenPage.open(world.browser, { url: `https://${NAME}:${port}`, look: 'phone' });
  });
  afterAll(async () => {
    await phone?.[Symbol.asyncDispose]();
    await owner?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  test('lets a person sign in who goes on after the warning, and says what is missing, why, and how it is mended', async () => {
    await world.hub.result('hub:add_person', { name: 'ann', title: 'Ann', role: 'adult' });
    const { code } = await world.hub.result('hub:invite_person', { name: 'ann' });
    await phone.page.evaluate(`location.hash = 'invite=${String(code)}'`);
    await phone.page.getByRole('button', { name: 'Sign in on this device' }).click();
    await phone.page.getByText(DOOR).first().waitFor();
    await phone.show('this-device');
    await phone.page.getByText('Offline use, notices and passkeys do not work here.').waitFor();
    await phone.page.getByText('This browser does not trust the certificate of the hub.', { exact: false }).waitFor();
    await phone.page.getByText('Give the hub a name with a trusted certificate', { exact: false }).waitFor();
    expect(await phone.page.getByRole('button', { name: /Notify this device|Install/ }).count()).toBe(0);
    expect(await phone.barriers()).toEqual([]);
    expect(await phone.page.evaluate('navigator.serviceWorker.getRegistrations().then(({ length }) => length)')).toBe(0);
  });

  test('leaves a key that nobody can export, with which the person approves', async () => {
    await phone.show('people');
    await phone.page.getByRole('button', { name: 'Let this browser approve' }).click();
    const shown = phone.page.locator('atmo-browser-key strong code');
    await shown.waitFor();
    await owner.show('people');
    const card = owner.page.getByRole('region', { name: /The key of ann/ });
    expect(await card.locator('strong code').textContent()).toBe(await shown.textContent());
    await card.getByRole('button', { name: 'It is the same' }).click();
    await owner.decide(owner.page.getByRole('button', { name: 'Approve and do it' }));
    await phone.page.getByText('This browser signs as ann').waitFor();

    const { token } = await world.hub.result('hub:mint_token', { agent_id: 'courier', permissions: ['device:control:*'] });
    const headers = { authorization: `Bearer ${String(token)}` };
    const asked = await world.hub.call('front_door_unlock', { pin: '1234' }, { headers, approve: false });
    expect(asked).toMatchObject({ error: { code: 'APPROVAL_REQUIRED' } });
    await phone.show('approvals');
    const request = phone.page.getByRole('article', { name: /courier wants/ });
    await phone.decide(request.getByRole('button', { name: 'Approve' }));
    await phone.page
      .getByText(/Approved by ann/)
      .first()
      .waitFor();
    const { approvals } = (await world.hub.get('/api/v1/approvals')) as {
      readonly approvals: readonly { readonly approved_by: unknown }[];
    };
    expect(approvals[0]?.approved_by).toMatchObject([{ person: 'ann' }]);
    const exported = await phone.page.evaluate(`new Promise((done) => { indexedDB.databases().then(async ([{ name }]) => {
      const open = indexedDB.open(name);
      open.onsuccess = () => {
        const keys = [];
        const stores = [...open.result.objectStoreNames];
        const transaction = open.result.transaction(stores);
        const find = (value) => { if (value instanceof CryptoKey) keys.push(value); else if (value && typeof value === 'object') Object.values(value).forEach(find); };
        for (const store of stores) transaction.objectStore(store).getAll().onsuccess = ({ target }) => find(target.result);
        transaction.oncomplete = () => done(keys.map(({ type, extractable }) => type + ' ' + extractable));
      };
    }); })`);
    expect(exported).toContain('private false');
    expect(exported).not.toContain('private true');
  });
});
