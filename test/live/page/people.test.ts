import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHROMIUM_HINT } from '../../../scripts/browser/chromium.ts';
import { objectOf, objectsOf } from '../../../src/core/json.ts';
import { HAS_CHROMIUM } from './chromium.ts';
import type { OpenPage } from './open-page.ts';
import { PageWorld } from './page-world.ts';

const DOOR = 'Front door';
const PIN = '1234';
const LOCKED = 1;
const UNLOCKED = 2;

/** What the browser's database holds of the login, as text of the page. */
const KEPT_LOGIN = `new Promise((resolve, reject) => {
  const opening = indexedDB.open('atmosphere');
  opening.onerror = () => reject(opening.error);
  opening.onsuccess = () => {
    const asking = opening.result.transaction('login').objectStore('login').get('atmosphere-login');
    asking.onerror = () => reject(asking.error);
    asking.onsuccess = () => {
      const { key } = asking.result;
      resolve({ extractable: key.privateKey?.extractable, json: JSON.stringify(asking.result) });
    };
  };
})`;

describe.skipIf(!HAS_CHROMIUM)(`what waits for a person${HAS_CHROMIUM ? '' : `: ${CHROMIUM_HINT}`}`, () => {
  let world: PageWorld;
  let owner: OpenPage;

  beforeAll(async () => {
    world = await PageWorld.start({ devices: [DOOR] });
    owner = await world.open();
  });
  afterAll(async () => {
    await owner?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const lockState = () => world.device(DOOR).get('lock', 'DoorLock', 'LockState');
  const unlocks = async () => (await world.device(DOOR).commands()).filter(({ command }) => command === 'unlockDoor').length;

  async function lock(): Promise<void> {
    await world.device(DOOR).set('lock', 'DoorLock', 'LockState', LOCKED);
    await expect.poll(async () => JSON.stringify(await world.hub.get('/api/v1/devices/front-door'))).toContain('"locked"');
  }

  /** An agent asks to unlock the door. Returns the status and the body of the answer. */
  async function unlockAs(agent: string, query = ''): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> {
    const { token } = await world.hub.result('hub:mint_token', { agent_id: agent, permissions: ['device:control:*'] });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${world.hub.url}/api/v1/tools/front_door_unlock/invoke${query}`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ pin: PIN }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /** An agent asks to unlock the door, and has to wait. */
  async function ask(agent: string): Promise<void> {
    expect((await unlockAs(agent)).status).toBe(202);
  }

  const requestOf = (agent: string) => owner.page.getByRole('article', { name: new RegExp(`${agent} wants: Unlock Front door`) });

  test('a lock asks for its PIN at the tile, is unlocked once somebody agrees, and the PIN is shown nowhere', async () => {
    await lock();
    await owner.show('home');
    const tile = owner.page.getByRole('article', { name: DOOR });
    await tile.getByRole('button', { name: 'Unlock Front door' }).click();
    const question = owner.page.getByRole('dialog', { name: 'Unlock Front door' });
    await question.getByLabel('PIN').fill(PIN);
    expect(await owner.barriers()).toEqual([]);
    await question.getByRole('button', { name: 'Unlock Front door' }).click();
    await owner.page.getByRole('button', { name: 'Approve and do it' }).click();
    await expect.poll(lockState).toBe(UNLOCKED);
    await tile.getByText('Unlocked').waitFor();
    expect(await owner.page.locator('body').textContent()).not.toContain(PIN);
  });

  test('who thinks better of the PIN has asked for nothing', async () => {
    await lock();
    await owner.show('devices/front-door');
    const before = await world.hub.get('/api/v1/approvals');
    await owner.page.getByRole('button', { name: 'Unlock Front door' }).click();
    await owner.page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await owner.page.getByRole('dialog').waitFor({ state: 'detached' });
    await expect.poll(() => owner.page.locator('article[aria-busy=true]').count()).toBe(0);
    expect(await world.hub.get('/api/v1/approvals')).toEqual(before);
  });

  test('the page of approvals names who agreed', async () => {
    await owner.show('approvals');
    const decided = owner.page.getByRole('region', { name: 'Decided lately' });
    await decided.getByText('Approved and used by owner').waitFor();
    expect(await decided.textContent()).not.toContain('[object');
  });

  test('what is denied does not happen, and stands there with who denied it', async () => {
    const before = await unlocks();
    await ask('burglar');
    await owner.show('approvals');
    const request = owner.page.getByRole('article', { name: /burglar wants: Unlock Front door/ });
    await request.getByText('given, and shown to nobody').waitFor();
    await owner.decide(request.getByRole('button', { name: 'Deny' }));
    await owner.page.getByText('Denied by owner').waitFor();
    await request.waitFor({ state: 'detached' });
    expect(await unlocks()).toBe(before);
    expect(await lockState()).toBe(LOCKED);
  });

  test('two presses at one place decide one request: what moves under the finger is not decided', async () => {
    const before = await unlocks();
    await ask('first');
    await ask('second');
    await owner.show('approvals');
    const requests = owner.page.getByRole('article', { name: /(first|second) wants: Unlock Front door/ });
    await expect.poll(() => requests.count()).toBe(2);
    const deny = requests.first().getByRole('button', { name: 'Deny' });
    await owner.bringToMiddle(deny);
    await expect.poll(() => deny.getAttribute('aria-disabled')).toBe('false');
    const { x, y, width, height } = (await deny.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    const press = () => owner.page.mouse.click(x + width / 2, y + height / 2);
    await press();
    await expect.poll(() => requests.count()).toBe(1);
    await press();
    await owner.page.getByText('This came here only just now').waitFor();
    expect(await requests.count()).toBe(1);
    const { approvals } = (await world.hub.get('/api/v1/approvals')) as { approvals: { agent_id: string; state: string }[] };
    expect(approvals.filter(({ state }) => state === 'pending')).toHaveLength(1);
    await owner.decide(requests.first().getByRole('button', { name: 'Deny' }));
    await expect.poll(() => requests.count()).toBe(0);
    expect(await unlocks()).toBe(before);
  });

  test('a job that waits says so, and the door is open within a second of the decision', async () => {
    await lock();
    const { body: job } = await unlockAs('butler', '?async=true&wait_for_approval=true');
    expect(job).toMatchObject({ status: 'waiting' });
    await owner.show('approvals');
    await requestOf('butler').getByText('Runs as soon as it is approved').waitFor();
    expect(await owner.barriers()).toEqual([]);
    await owner.decide(requestOf('butler').getByRole('button', { name: 'Approve once' }));
    await expect.poll(lockState).toBe(UNLOCKED);
    const jobNow = async () => objectOf(await world.hub.get(`/api/v1/jobs/${job.job_id}`));
    await expect.poll(async () => (await jobNow()).status).toBe('succeeded');
    const { approved_by: approvedBy } = objectOf(await world.hub.get(`/api/v1/approvals/${job.approval_id}`));
    const [given] = objectsOf(approvedBy);
    expect(Date.parse(String((await jobNow()).finished_at)) - Date.parse(String(given?.at))).toBeLessThanOrEqual(1_000);
  });

  test('a request that changed since it was shown is not decided', async () => {
    await ask('changeling');
    await owner.show('approvals');
    const approve = requestOf('changeling').getByRole('button', { name: 'Approve once' });
    await approve.waitFor();
    const single = /\/api\/v1\/approvals\/[0-9a-f]{32}$/;
    await owner.page.route(single, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), params: { pin: '[secret]', seconds: 600 } } });
    });
    await owner.decide(approve);
    await owner.page.getByText('This request has changed since it was shown').waitFor();
    await owner.page.unroute(single);
    expect(await requestOf('changeling').count()).toBe(1);
    await owner.decide(requestOf('changeling').getByRole('button', { name: 'Deny' }));
    await expect.poll(() => requestOf('changeling').count()).toBe(0);
  });

  test('an agent is refused the door until somebody removes that', async () => {
    await ask('intruder');
    await owner.show('approvals');
    await owner.decide(requestOf('intruder').getByRole('button', { name: 'Refuse this agent Front door' }));
    const holding = owner.page.getByRole('region', { name: 'What holds on' });
    await holding.getByText('intruder may not use Front door').waitFor();
    expect((await unlockAs('intruder')).status).toBe(403);
    expect(await owner.barriers()).toEqual([]);
    await holding.getByRole('button', { name: 'Remove' }).click();
    await holding.waitFor({ state: 'detached' });
    expect(await world.hub.get('/api/v1/standing-answers')).toEqual({ answers: [] });
  });

  test('another browser is enrolled for a person once somebody agrees, and then signs for that person', async () => {
    await using phone = await world.open('phone', { token: world.ownerLogin().token });
    await phone.show('approvals');
    await phone.page.getByLabel('Your name').fill('ann');
    await phone.page.getByLabel('Name of this device').fill('Ann’s phone');
    await phone.page.getByRole('button', { name: 'Let this browser approve' }).click();
    await phone.page.getByRole('dialog').getByRole('button', { name: 'Fine' }).click();
    const card = phone.page.getByRole('region', { name: 'Approve in this browser' });
    await card.getByText(/^atmo approve [0-9a-f]{32}$/).waitFor();
    await owner.show('approvals');
    const request = owner.page.getByRole('article', { name: /approve/i }).first();
    await owner.decide(request.getByRole('button', { name: 'Approve' }));
    await phone.page.getByText('This browser signs as ann').waitFor();
    expect(await world.hub.get('/api/v1/approvers')).toMatchObject({
      approvers: expect.arrayContaining([expect.objectContaining({ person: 'ann' })]),
    });
    await ask('visitor');
    const button = phone.page.getByRole('article', { name: /visitor wants/ }).getByRole('button', { name: 'Approve' });
    await button.waitFor();
    // One line of text: a word that breaks in its middle has two.
    expect((await button.boundingBox())?.height).toBeLessThan(50);
    expect(await phone.overflowPixels()).toBe(0);
    await phone.decide(button);
    await phone.page.getByText(/Approved by ann/).waitFor();
    await ask('salesman');
    await phone.decide(phone.page.getByRole('article', { name: /salesman wants/ }).getByRole('button', { name: 'Deny' }));
    await owner.page.getByText('Denied by ann').waitFor();
    expect(phone.complaints).toEqual([]);
  });

  test('who stays signed in signs with a key that nobody can read out, over a reload too', async () => {
    const login = world.ownerLogin();
    await using browser = await world.openSignedOut();
    await browser.page.getByLabel('Token or link').fill(JSON.stringify(login));
    await browser.page.getByLabel('Stay signed in on this browser').check();
    await browser.page.getByRole('button', { name: 'Sign in' }).click();
    await browser.page.getByRole('link', { name: 'Approvals' }).first().waitFor();
    await browser.page.reload();
    const kept = await browser.page.evaluate(KEPT_LOGIN);
    expect(kept).toMatchObject({ extractable: false, json: expect.not.stringContaining(login.key ?? 'no key') });
    await ask('courier');
    await browser.show('approvals');
    await browser.decide(browser.page.getByRole('article', { name: /courier wants/ }).getByRole('button', { name: 'Approve' }));
    await browser.page.getByText('Approved by owner').first().waitFor();
    expect(await browser.page.evaluate('JSON.stringify({ ...sessionStorage, ...localStorage })')).not.toContain(login.key);
    expect(browser.complaints).toEqual([]);
  });

  test('a part of the page that an update took away makes the page load itself anew, once', async () => {
    await using old = await world.open();
    await old.show('home');
    let documents = 0;
    old.page.on('request', (request) => {
      if (request.isNavigationRequest()) documents++;
    });
    const isOld = () => documents === 0;
    await old.page.route(/\/assets\/part-/, (route) => (isOld() ? route.fulfill({ status: 404 }) : route.continue()));
    await old.page.route(`${world.hub.url}/`, (route) =>
      isOld() && !route.request().isNavigationRequest()
        ? route.fulfill({ body: '<script src="/assets/main-NEWBUILD.js">' })
        : route.continue(),
    );
    await old.show('approvals');
    await expect.poll(() => documents).toBe(1);
    await old.page.getByText('This browser signs as owner').waitFor();
    expect(documents).toBe(1);
    expect(old.page.url()).toContain('#/approvals');
  });

  test('and the browser had nothing to complain about', () => {
    expect(owner.complaints).toEqual([]);
  });
});
