import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_HINT } from '../../../scripts/browser/chromium.ts';
import { HAS_CHROMIUM } from './chromium.ts';
import { OpenPage } from './open-page.ts';
import { PageWorld } from './page-world.ts';

const DEVICES = ['Front door', 'Hall light', 'Kitchen ceiling', 'Bedroom lamp', 'Living room lamp'];
const VIRTUAL_AUTHENTICATOR = {
  protocol: 'ctap2',
  transport: 'internal',
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const;

describe.skipIf(!HAS_CHROMIUM)(`the household${HAS_CHROMIUM ? '' : `: ${CHROMIUM_HINT}`}`, () => {
  let world: PageWorld;
  let owner: OpenPage;

  beforeAll(async () => {
    world = await PageWorld.start({ devices: DEVICES });
    owner = await world.open();
  });
  afterAll(async () => {
    await owner?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  /** Signs a person in at an address of the hub, with an invitation that the hub made. */
  async function signIn(page: OpenPage, code: string, url = world.hub.url): Promise<void> {
    await page.page.goto(`${url}/#invite=${code}`);
    await page.page.getByRole('heading', { name: 'You are invited' }).waitFor();
    expect(page.page.url()).not.toContain(code);
    await page.page.getByRole('button', { name: 'Sign in on this device' }).click();
    await page.page.getByRole('link', { name: 'Home' }).first().waitFor();
  }

  async function invite(name: string): Promise<string> {
    return String((await world.hub.result('hub:invite_person', { name })).code);
  }

  /** An agent asks to unlock the door, and has to wait. */
  async function askForDoor(agent: string): Promise<void> {
    const { token } = await world.hub.result('hub:mint_token', { agent_id: agent, permissions: ['device:control:*'] });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${world.hub.url}/api/v1/tools/front_door_unlock/invoke`, {
      method: 'POST',
      headers,
      body: '{"pin":"1234"}',
    });
    expect(response.status).toBe(202);
  }

  /** A person offers a key in a browser; the owner compares it on another screen and lets it approve. */
  async function letApprove(person: OpenPage, name: string): Promise<void> {
    await person.page.getByRole('button', { name: 'Let this browser approve' }).click();
    const shown = person.page.locator('atmo-browser-key strong code');
    await shown.waitFor();
    if (!owner.page.url().endsWith('#/people')) await owner.show('people');
    const card = owner.page.getByRole('region', { name: new RegExp(`The key of ${name}`) });
    expect(await card.locator('strong code').textContent()).toBe(await shown.textContent());
    await card.getByRole('button', { name: 'It is the same' }).click();
    await owner.decide(owner.page.getByRole('button', { name: 'Approve and do it' }));
    await person.page.getByText(`This browser signs as ${name}`).waitFor();
  }

  async function approveDoor(person: OpenPage, agent: string): Promise<void> {
    await askForDoor(agent);
    await person.page
      .getByRole('link', { name: /Approvals/ })
      .first()
      .click();
    const request = person.page.getByRole('article', { name: new RegExp(`${agent} wants`) });
    await person.decide(request.getByRole('button', { name: 'Approve' }));
    await person.page
      .getByText(/Approved by (ann|bob)/)
      .first()
      .waitFor();
  }

  test('of a child: the owner adds and invites on the page; three rooms and no lock are there; an ended sign-in ends at once', async () => {
    await owner.show('people');
    await owner.page.getByRole('button', { name: 'Add a person' }).click();
    const dialog = owner.page.getByRole('dialog');
    await dialog.getByLabel('Short name').fill('tim');
    await dialog.getByLabel('Name', { exact: true }).fill('Tim');
    for (const room of ['Hall', 'Kitchen', 'Bedroom']) await dialog.getByLabel(room, { exact: true }).check();
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await owner.page.getByRole('button', { name: 'Invite Tim' }).click();
    await owner.page.getByRole('img', { name: 'QR code of the invitation' }).waitFor();
    expect(await owner.barriers()).toEqual([]);
    const link = (await owner.page.getByRole('dialog').locator('.copyable pre').textContent()) ?? '';
    const code = /#invite=([0-9A-Z-]+)$/.exec(link)?.[1] ?? '';

    await using phone = await world.openSignedOut('phone');
    await signIn(phone, code);
    await phone.page.getByText('Hall light').first().waitFor();
    const text = await phone.page.locator('main').textContent();
    expect(text).toContain('Kitchen ceiling');
    expect(text).toContain('Bedroom lamp');
    expect(text).not.toContain('Front door');
    expect(text).not.toContain('Living room lamp');
    await phone.page.reload();
    await phone.page.getByText('Hall light').first().waitFor();

    await owner.page.keyboard.press('Escape');
    await owner.page
      .getByRole('button', { name: /^Sign out ./ })
      .first()
      .click();
    await phone.page.getByRole('heading', { name: 'Welcome home' }).waitFor({ timeout: 5_000 });
    await using thief = await world.openSignedOut();
    await thief.page.goto(`${world.hub.url}/#invite=${code}`);
    await thief.page.getByRole('button', { name: 'Sign in on this device' }).click();
    await thief.page.getByRole('alert').filter({ hasText: 'used already' }).waitFor();
  });

  test('of an adult: a passkey is made, compared and approves where the page has a name', async () => {
    await world.hub.result('hub:add_person', { name: 'ann', title: 'Ann', role: 'adult' });
    const url = world.hub.url.replace('127.0.0.1', 'localhost');
    await using phone = await OpenPage.open(world.browser, { url });
    const devtools = await phone.page.context().newCDPSession(phone.page);
    await devtools.send('WebAuthn.enable');
    const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', { options: VIRTUAL_AUTHENTICATOR });
    await signIn(phone, await invite('ann'), url);
    await phone.show('people');
    await letApprove(phone, 'ann');
    expect((await devtools.send('WebAuthn.getCredentials', { authenticatorId })).credentials).toHaveLength(1);
    await approveDoor(phone, 'courier');
    expect(phone.complaints).toEqual([]);
  });

  test('of an adult: a key that nobody can export is compared and approves where the page has no name', async () => {
    await world.hub.result('hub:add_person', { name: 'bob', title: 'Bob', role: 'adult' });
    await using laptop = await world.openSignedOut();
    await signIn(laptop, await invite('bob'));
    await laptop.show('people');
    await letApprove(laptop, 'bob');
    await approveDoor(laptop, 'plumber');
    const kept = await laptop.page.evaluate('JSON.stringify({ ...sessionStorage, ...localStorage })');
    expect(kept).not.toContain('at1.');
  });
});
