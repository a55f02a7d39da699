import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { CHROMIUM_HINT } from '../../../scripts/browser/chromium.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { HAS_CHROMIUM } from './chromium.ts';
import type { OpenPage } from './open-page.ts';
import { PageWorld } from './page-world.ts';

const LAMP = 'Living room lamp';
const PLUG = 'Desk plug';
const THERMOMETER = 'Garden thermometer';
const SPARE = 'Hall light';

describe.skipIf(!HAS_CHROMIUM)(`chores at the page${HAS_CHROMIUM ? '' : `: ${CHROMIUM_HINT}`}`, () => {
  let world: PageWorld;
  let opened: OpenPage;

  beforeAll(async () => {
    world = await PageWorld.start({ devices: [LAMP, PLUG, THERMOMETER], waiting: [SPARE] });
    opened = await world.open();
  });
  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const button = (name: string | RegExp) => opened.page.getByRole('button', { name, exact: true });
  const notice = (text: string | RegExp) => opened.page.locator('.notice').getByText(text).waitFor();
  const device = async (id: string) => (await world.hub.get(`/api/v1/devices/${id}`)) as JsonObject;

  test('a device is made to show itself, and does', async () => {
    await opened.show('devices/living-room-lamp');
    await button('Identify').click();
    await notice(`Identify ${LAMP}: done`);
    const commands = await world.device(LAMP).commands();
    expect(commands.filter(({ cluster }) => cluster === 'Identify')).not.toEqual([]);
  });

  test('a device gets another name and another room', async () => {
    await button('Name and room').click();
    const dialog = opened.page.getByRole('dialog', { name: 'Name and room' });
    await dialog.getByLabel('Name').fill('Sofa lamp');
    await dialog.getByLabel('Room').fill('Salon');
    await dialog.getByRole('button', { name: 'Save' }).click();
    // First, since it goes after some seconds.
    await notice(/Its tools begin with sofa_lamp\. It can still be called Living room lamp/);
    await opened.page.getByRole('heading', { name: 'Sofa lamp' }).waitFor();
    await expect.poll(() => device('living-room-lamp')).toMatchObject({ name: 'Sofa lamp', area: 'Salon' });
    await button('About').click();
    await opened.page.getByText('Was called').waitFor();
    await opened.page.locator('dd', { hasText: /^Living room lamp$/ }).waitFor();
  });

  test('an attribute is read and written, and a command sent, in the words of Matter', async () => {
    await button('Inside').click();
    const cluster = opened.page.locator('details', { hasText: '0x0006' }).first();
    await cluster.locator('summary').first().click();
    await cluster.getByLabel('New value of On time').fill('300');
    const row = cluster.getByRole('listitem').filter({ has: opened.page.getByLabel('New value of On time') });
    await row.getByRole('button', { name: 'Write' }).click();
    await expect.poll(opened.agreeing(() => world.device(LAMP).get('light', 'OnOff', 'OnTime'))).toBe(300);
    const before = await world.device(LAMP).get('light', 'OnOff', 'OnOff');
    await cluster.getByText('Toggle', { exact: true }).click();
    await cluster.locator('details', { hasText: 'Toggle' }).getByRole('button', { name: 'Send' }).click();
    await expect.poll(opened.agreeing(() => world.device(LAMP).get('light', 'OnOff', 'OnOff'))).toBe(!before);
    await row.getByRole('button', { name: 'Read On time' }).click();
    await expect.poll(() => row.locator('output').textContent()).toMatch(/^\d+$/);
  });

  test('a device is removed once somebody agrees, and believes to belong to nobody', async () => {
    await opened.show('devices/desk-plug');
    await button('Remove').click();
    await opened.page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
    await button('Approve and do it').click();
    await opened.page.getByRole('heading', { name: 'Not here' }).waitFor();
    expect(await world.device(PLUG).get(0, 'OperationalCredentials', 'CommissionedFabrics')).toBe(0);
  });

  test('a device that comes back is offered what it was, and has its former id once somebody agrees', async () => {
    const code = world.device(PLUG).pairing.qrCode;
    const params = { code, name: 'Plug again', area: 'Study', accept_attestation: true };
    // What was removed takes a moment until it can be paired again.
    const commission = async () => {
      const answer = await world.hub.call('hub:commission_device', params);
      expect(answer).toMatchObject({ status: 'success' });
      return answer;
    };
    const answer = await vi.waitFor(commission, { timeout: 90_000 });
    expect(answer).toMatchObject({ result: { recognised: [{ former: 'desk-plug' }] } });
    await opened.show('devices/plug-again');
    await button('It is the same device').click();
    await button('Approve and do it').click();
    await opened.page.getByRole('heading', { name: 'Plug again' }).waitFor();
    await expect.poll(() => opened.page.url()).toContain('#/devices/desk-plug');
    expect(await device('desk-plug')).toMatchObject({ id: 'desk-plug' });
  });

  test('a curve says the very lowest and highest of the time, and takes the hour for a young sensor', async () => {
    for (const [celsius, shown] of [
      [-3.5, '-3.5'],
      [31.5, '31.5'],
      [12, '12'],
    ] as const) {
      await world.device(THERMOMETER).set(1, 'TemperatureMeasurement', 'MeasuredValue', celsius * 100);
      await expect.poll(async () => JSON.stringify(await device('garden-thermometer'))).toContain(`"value":${shown}`);
    }
    await opened.show('devices/garden-thermometer');
    await opened.page.getByText(/^Lowest -3.5 °C, highest 31.5 °C, mean/).waitFor();
    expect(await button('Hour').getAttribute('aria-pressed')).toBe('true');
    // The picture begins with the first value: in a whole hour these seconds would be two pixels wide.
    const [curve, picture] = await Promise.all([
      opened.page.locator('.curve-line').boundingBox(),
      opened.page.locator('.curve').boundingBox(),
    ]);
    expect((curve?.width ?? 0) / (picture?.width ?? 1)).toBeGreaterThan(0.03);
    await button('Day').click();
    await expect.poll(() => button('Day').getAttribute('aria-pressed')).toBe('true');
    await opened.page.getByText(/^Lowest -3.5 °C, highest 31.5 °C, mean/).waitFor();
  });

  test('floors of rooms and other names of devices are shown at home', async () => {
    await world.hub.result('hub:describe_area', { area: 'Salon', floor: 'Upstairs' });
    await world.hub.result('hub:set_device_aliases', { device_id: 'living-room-lamp', aliases: ['Leselampe'] });
    await using home = await world.open();
    await home.show('home');
    await home.page.getByRole('region', { name: 'Salon' }).getByText('Upstairs').waitFor();
    await home.page.getByRole('article', { name: 'Sofa lamp' }).getByText('also Leselampe').waitFor();
  });

  test('tools that agents made are found by that, tried, and removed', async () => {
    const { token } = await world.hub.result('hub:mint_token', {
      agent_id: 'helper',
      permissions: ['tool:register', 'device:control:*', 'device:read:*'],
    });
    const response = await fetch(`${world.hub.url}/api/v1/tools`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        id: 'reading_light',
        name: 'Reading light',
        description: 'Turns the sofa lamp on for reading.',
        input_schema: {},
        steps: [{ tool: 'turn_on_light', params: { device_id: 'living-room-lamp' } }],
      }),
    });
    expect(response.status).toBe(201);
    await world.device(LAMP).set('light', 'OnOff', 'OnOff', false);
    await opened.show('tools');
    await opened.page.getByLabel('Made by').selectOption({ label: 'Agents' });
    const cards = opened.page.getByRole('article');
    await opened.page
      .getByText('1 tools', { exact: true })
      .or(opened.page.getByText('1 tool', { exact: true }))
      .waitFor();
    expect(await cards.count()).toBe(1);
    await cards.getByText('made by an agent').waitFor();
    await cards.getByRole('button', { name: 'Try it' }).click();
    await cards.getByRole('button', { name: 'Run' }).click();
    await expect.poll(() => world.device(LAMP).get('light', 'OnOff', 'OnOff')).toBe(true);
    await cards.getByRole('button', { name: 'Remove Reading light' }).click();
    await opened.page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
    await opened.page.getByText('No agent has made a tool.').waitFor();
    expect(JSON.stringify(await world.hub.get('/api/tools?created_by=agent'))).not.toContain('reading_light');
  });

  test('tools are narrowed by kind and room, and what the hub brings cannot be removed', async () => {
    await opened.show('tools');
    const names = opened.page.getByRole('article').locator('header code');
    await opened.page.getByLabel('Made by').selectOption({ label: 'Anybody' });
    await expect.poll(() => names.count()).toBeGreaterThan(2);
    await opened.page.getByLabel('Room').selectOption({ label: String((await device('living-room-lamp')).area) });
    await expect.poll(async () => (await names.allTextContents()).filter((name) => !/lamp/.test(name))).toEqual([]);
    expect(await names.count()).toBeGreaterThan(2);
    await opened.page.getByLabel('Kind').selectOption({ label: 'Communicating' });
    await opened.page.getByText('No tool is like that.').waitFor();
    expect(await opened.page.getByRole('button', { name: /^Remove / }).count()).toBe(0);
  });

  test('a search shows what almost fitted', async () => {
    await opened.show('tools?q=turn%20on%20the%20sofa%20lamp');
    const almost = opened.page.getByRole('region', { name: 'Almost' });
    const { near_misses: nearMisses } = (await world.hub.get('/api/v1/tools?q=turn%20on%20the%20sofa%20lamp')) as {
      near_misses: readonly unknown[];
    };
    expect(nearMisses.length).toBeGreaterThan(0);
    await expect.poll(() => almost.getByRole('article').count()).toBe(nearMisses.length);
  });

  test('a look at what a token would see makes none', async () => {
    await opened.show('tokens');
    const before = await world.hub.get('/api/v1/tokens');
    await button('Add').first().click();
    await button('What it would see').click();
    await opened.page.getByRole('status', { name: 'What it sees' }).getByText('3 devices', { exact: true }).waitFor();
    expect(await world.hub.get('/api/v1/tokens')).toEqual(before);
    expect(await opened.page.getByText('made by the owner').count()).toBeGreaterThan(0);
    expect(await opened.page.locator('main').textContent()).not.toContain('owner:owner');
  });

  test('an agent is ended, and its token with it', async () => {
    const { token } = await world.hub.result('spawn_agent', {
      agent_type: 'external',
      name: 'watcher',
      permissions: ['device:read:*'],
    });
    const ask = () => fetch(`${world.hub.url}/api/v1/devices`, { headers: { authorization: `Bearer ${token}` } });
    expect((await ask()).status).toBe(200);
    await button('End watcher').click();
    await notice('watcher has ended.');
    await expect.poll(async () => (await ask()).status).toBe(401);
    await expect.poll(() => button('End watcher').count()).toBe(0);
  });

  test('every snippet is shown whole', async () => {
    await opened.show('agents');
    const hidden = await opened.page.evaluate(`[...document.querySelectorAll('.copyable pre')]
      .map((pre) => pre.scrollHeight - pre.clientHeight)`);
    expect(hidden).toEqual([0]);
    expect(await opened.page.getByRole('link', { name: 'Agents' }).boundingBox()).toMatchObject({ height: 44 });
  });

  test('and the browser had nothing to complain about', () => {
    expect(opened.complaints).toEqual([]);
  });

  // Last, since the lamp leaves the home.
  test('a device that does not answer is replaced by another one, which gets its name and room', async () => {
    await world.commission(SPARE);
    const { name, area } = await device('living-room-lamp');
    await using away = await world.open();
    // All devices of this world are in one process, so none can be cut off alone: the page is told that the lamp is.
    await away.page.route('**/api/v1/devices', async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { readonly devices: readonly JsonObject[] };
      const devices = body.devices.map((one) => (one.id === 'living-room-lamp' ? { ...one, reachability: 'unreachable' } : one));
      await route.fulfill({ response, json: { ...body, devices } });
    });
    await away.page.reload();
    await away.show('devices/living-room-lamp');
    const press = (label: string) => away.page.getByRole('button', { name: label, exact: true }).click();
    await away.page.getByText(/does not answer. Is it broken/).waitFor();
    await press('Replace');
    const dialog = away.page.getByRole('dialog');
    expect(await away.barriers()).toEqual([]);
    expect(await dialog.getByRole('combobox', { name: 'New device' }).locator('option').allTextContents()).toContain(`${SPARE} – Hall`);
    await dialog.getByRole('combobox', { name: 'New device' }).selectOption('hall-light');
    await dialog.getByText(`This cannot be undone: ${name}`).waitFor();
    await dialog.getByLabel(/Also if something uses/).check();
    await dialog.getByRole('button', { name: 'Replace', exact: true }).click();
    await press('Approve and do it');
    await away.page
      .locator('.notice')
      .getByText(/The new device is .* now/)
      .waitFor();
    // A request that is under way when the page closes has no answer to read.
    await away.page.unrouteAll({ behavior: 'ignoreErrors' });
    expect(await device('living-room-lamp')).toMatchObject({ name, area, device_types: ['OnOffLight'] });
    expect(await device('hall-light')).toMatchObject({ error: { code: 'DEVICE_NOT_FOUND' } });
    expect(await world.device(LAMP).get(0, 'OperationalCredentials', 'CommissionedFabrics')).toBe(0);
  });
});
