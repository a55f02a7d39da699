import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_HINT } from '../../../scripts/browser/chromium.ts';
import { HAS_CHROMIUM } from './chromium.ts';
import { invitationOf } from './furnished-world.ts';
import { OAuthProgram } from './oauth-program.ts';
import type { OpenPage } from './open-page.ts';
import { PageWorld } from './page-world.ts';

const LAMP = 'Living room lamp';
const DOOR = 'Front door';
const NAME = 'Lamp helper';
const UNLOCK = { name: 'front_door_unlock', arguments: { pin: '1234' } };

describe.skipIf(!HAS_CHROMIUM)(`access for an application${HAS_CHROMIUM ? '' : `: ${CHROMIUM_HINT}`}`, () => {
  let world: PageWorld;
  let owner: OpenPage;

  beforeAll(async () => {
    world = await PageWorld.start({ devices: [LAMP, DOOR] });
    await world.hub.result('hub:add_person', { name: 'ann', title: 'Ann', role: 'adult' });
    await world.hub.result('hub:add_person', { name: 'tim', title: 'Tim', role: 'child', rooms: ['living-room'], kinds: [] });
    owner = await world.open();
  });
  afterAll(async () => {
    await owner?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const startProgram = () => OAuthProgram.start(`${world.hub.url}/mcp`, NAME);
  const allow = ({ page }: OpenPage) => page.getByRole('button', { name: 'Allow', exact: true });
  const asks = ({ page }: OpenPage) => page.getByRole('heading', { name: `“${NAME}” asks for access to this home` });
  const isOn = () => world.device(LAMP).get('light', 'OnOff', 'OnOff');

  /** Opens the request of a program, as the program does it, and waits for what it would be allowed. */
  async function open(opened: OpenPage, { authorizeUrl }: OAuthProgram): Promise<void> {
    await opened.page.goto(authorizeUrl);
    await asks(opened).waitFor();
    await opened.settled();
  }

  /** Signs a person in at the page that is open, with the link of an invitation. */
  async function signIn({ page }: OpenPage, person: string): Promise<void> {
    await page.getByLabel('Token or link').fill(`${world.hub.url}/#invite=${await invitationOf(world, person)}`);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('button', { name: 'Sign in on this device' }).click();
  }

  /** Signs a person in with an invitation in another tab, and comes back. */
  async function signInElsewhere({ page }: OpenPage, person: string): Promise<void> {
    const other = await page.context().newPage();
    await other.goto(`${world.hub.url}/#invite=${await invitationOf(world, person)}`);
    await other.getByRole('button', { name: 'Sign in on this device' }).click();
    await other.getByRole('navigation').waitFor();
    await other.close();
    // Without a window no tab is ever hidden.
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
  }

  async function turnOn(program: OAuthProgram): Promise<unknown> {
    await world.device(LAMP).set('light', 'OnOff', 'OnOff', false);
    const { structuredContent } = await program.call('turn_on_light', { device_id: 'living-room-lamp' });
    return structuredContent;
  }

  test('an unknown program is shown after the sign-in, gets lamps and no lock, and loses all when its access is ended', async () => {
    await using program = await startProgram();
    await using opened = await world.openSignedOut();
    const { page } = opened;
    await page.goto(program.authorizeUrl);
    await page.getByText('An application asks for access to this home').waitFor();
    expect(await page.locator('body').textContent()).not.toContain(NAME);
    await signInElsewhere(opened, 'ann');
    await asks(opened).waitFor();
    await opened.settled();
    await page.getByText(/unknown to this hub/).waitFor();
    await page.getByText('127.0.0.1 (a program on the machine on which you read this)').waitFor();
    expect(await page.getByLabel('Locks').isChecked()).toBe(false);
    expect(await page.getByLabel(/^Administration/).count()).toBe(0);
    await page
      .getByRole('status')
      .getByText(/Control.*Light.* in all rooms/)
      .waitFor();
    expect(await opened.barriers()).toEqual([]);
    expect(page.url()).toMatch(/#\/authorize\//);

    await opened.decide(allow(opened));
    await page.getByRole('heading', { name: 'Back at the program' }).waitFor();
    await program.takeToken();
    await turnOn(program);
    await expect.poll(isOn).toBe(true);
    const refused = await program.call('sensitive_tool', UNLOCK);
    expect(refused).toMatchObject({ isError: true });
    expect(JSON.stringify(refused)).toMatch(/TOOL_NOT_FOUND|PERMISSION_DENIED|DEVICE_NOT_FOUND/);

    await owner.show('tokens');
    const row = owner.page.getByRole('region', { name: 'Connected applications' }).getByRole('listitem').filter({ hasText: NAME });
    await row.getByText(/allowed by ann/).waitFor();
    await row.getByText(/last used/).waitFor();
    const tokens = owner.page.getByRole('region', { name: 'Tokens that this hub made' }).getByRole('listitem');
    await tokens.filter({ hasText: 'ann' }).first().waitFor();
    expect(await tokens.filter({ hasText: 'lamp-helper' }).count()).toBe(0);
    await row.getByRole('button', { name: `End the access of ${NAME}` }).click();
    expect(await row.count()).toBe(1);
    expect(await owner.barriers()).toEqual([]);
    await owner.page.getByRole('dialog').getByRole('button', { name: 'End access' }).click();
    await row.waitFor({ state: 'detached' });
    await expect(turnOn(program)).rejects.toThrow();
    expect(opened.complaints).toEqual([]);
  });

  test('a person narrows the access to one room and one kind by keys alone, and switches a lock on', async () => {
    await using program = await startProgram();
    await open(owner, program);
    const press = (key: string) => owner.page.keyboard.press(key);
    for (const [label, state] of [
      ['All rooms', false],
      ['Hall', false],
      ['Everyday kinds: lights, plugs, blinds, heating, sensors …', false],
      ['Plug', false],
      ['Control devices', false],
      ['Locks', true],
    ] as const) {
      await owner.tabTo(label);
      await press('Space');
      expect(await owner.page.getByLabel(label, { exact: true }).isChecked()).toBe(state);
    }
    await owner.settled();
    const result = owner.page.getByRole('region', { name: 'What you allow' }).getByRole('status');
    await result.getByText(/^Read state, Read sensors and their history: .*Light.*Lock.* in Living room$/).waitFor();
    expect(await result.textContent()).not.toMatch(/Control|Plug/);
    await owner.tabTo('Deny');
    await owner.page.getByRole('button', { name: 'Deny' }).and(owner.page.locator('[aria-disabled=false]')).waitFor();
    await press('Enter');
    expect((await program.answer()).get('error')).toBe('access_denied');
    await owner.page.getByRole('heading', { name: 'Back at the program' }).waitFor();
  });

  test('a child can give away what the child has, and nothing else', async () => {
    await using program = await startProgram();
    await using opened = await world.openSignedOut('phone');
    await opened.page.goto(program.authorizeUrl);
    await signIn(opened, 'tim');
    await asks(opened).waitFor();
    await opened.settled();
    expect(await opened.page.getByText('Dangerous', { exact: true }).count()).toBe(0);
    expect(await opened.overflowPixels()).toBe(0);
    await opened.page.getByText('Permissions', { exact: true }).click();
    const permissions = await opened.page.locator('details code').allTextContents();
    expect(permissions.length).toBeGreaterThan(0);
    for (const permission of permissions.filter((one) => one.startsWith('device:') || one.startsWith('sensor:')))
      expect(permission).toMatch(/:@area\/living-room\/@type\/(?!lock|valve)/);
    expect(permissions.join()).not.toMatch(/admin|\*/);
  });

  test('a device without a browser is allowed by its code; a wrong code is told in words', async () => {
    await using program = await startProgram();
    const codes = await program.deviceCodes();
    expect(await program.poll(codes)).toMatchObject({ error: 'authorization_pending' });
    await owner.page.goto(String(codes.verification_uri));
    await owner.page.getByRole('heading', { name: 'Connect a device or a program' }).waitFor();
    expect(await owner.barriers()).toEqual([]);
    const code = owner.page.getByLabel('Code', { exact: true });
    await code.fill('ZZZZ-ZZZZ');
    await owner.page.getByRole('button', { name: 'Go on' }).click();
    await owner.page.getByRole('alert').nth(1).waitFor();
    await code.fill(String(codes.user_code));
    await owner.page.getByRole('button', { name: 'Go on' }).click();
    await asks(owner).waitFor();
    await owner.settled();
    await owner.decide(allow(owner));
    await owner.page.getByRole('heading', { name: 'Allowed' }).waitFor();
    expect(await program.poll(codes)).toHaveProperty('access_token');
    await turnOn(program);
    await expect.poll(isOn).toBe(true);
    expect(owner.complaints.splice(0).filter((one) => !one.includes('404'))).toEqual([]);
  });

  test('whoever the hub does not know gets no answer, and a mistake leads nowhere by itself: the page says so and stays', async () => {
    await using program = await startProgram();
    await owner.page.goto(program.authorizeUrl.replace('response_type=code', 'response_type=token'));
    await owner.page.getByRole('heading', { name: 'The application has made a mistake' }).waitFor();
    expect(new URL(owner.page.url()).origin).toBe(world.hub.url);
    await owner.page.getByRole('link', { name: /^Back to 127\.0\.0\.1/ }).click();
    expect((await program.answer()).get('error')).toBe('unsupported_response_type');
    await owner.page.goto(`${world.hub.url}/oauth/authorize?response_type=code&client_id=nobody&redirect_uri=https://evil.example/`);
    await owner.page.getByRole('heading', { name: 'This request cannot be answered' }).waitFor();
    expect(new URL(owner.page.url()).origin).toBe(world.hub.url);
    owner.complaints.length = 0;
  });

  test('a press counts only in a window that had the focus, and no site can show the request in a frame, but in a popup', async () => {
    await using program = await startProgram();
    await open(owner, program);
    await owner.bringToMiddle(allow(owner));
    await allow(owner).and(owner.page.locator('[aria-disabled=false]')).waitFor();
    await owner.page.evaluate('document.hasFocus = () => false');
    await allow(owner).and(owner.page.locator('[aria-disabled=true]')).waitFor();
    await allow(owner).dispatchEvent('click');
    await owner.page.getByText('This came here only just now').waitFor();
    await asks(owner).waitFor();
    await framed(owner, program.authorizeUrl);
  });

  /** Opens a page of another site that has the request in a frame, and expects that the frame shows nothing of it, and that a popup stays a window of the site. */
  async function framed({ page, complaints }: OpenPage, url: string): Promise<void> {
    const site = createServer((_request, response) => response.setHeader('content-type', 'text/html').end(frameOf(url))).listen(
      0,
      '127.0.0.1',
    );
    await once(site, 'listening');
    await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
    await expect.poll(() => complaints.join()).toMatch(/frame-ancestors|X-Frame-Options/i);
    expect(page.frames().map((frame) => frame.url())).not.toContain(url);
    const opening = page.waitForEvent('popup');
    await page.evaluate(`void (window.opened = window.open(${JSON.stringify(url)}))`);
    const popup = await opening;
    await popup.getByRole('heading', { name: /asks for access/ }).waitFor();
    expect(await page.evaluate('window.opened.closed')).toBe(false);
    await popup.close();
    complaints.length = 0;
    site.closeAllConnections();
    site.close();
  }
});

function frameOf(url: string): string {
  return `<!doctype html><title>Prize</title><iframe src="${url.replaceAll('&', '&amp;')}"></iframe>`;
}
