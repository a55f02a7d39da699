import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';
import { makeHttpApi } from '../../http/http-fixture.ts';
import { atmo, fetchFrom, withDirectory } from '../cli-fixture.ts';

const CODES = { qr_code: 'MT:Y.K90AFN00KA0648G00', manual_code: '34970112332', expires_at: '2026-01-01T00:15:00.000Z' };

const FOR_ALL = ['list_devices_to_share', 'share_devices'];
const DEVICES = [
  { device_id: 'lamp', name: 'Lamp <b>', area: 'Hall', devices: 1 },
  { device_id: 'plug', name: 'Plug', area: 'Kitchen', devices: 1 },
  { device_id: 'fan', name: 'Fan', area: 'Hall', devices: 1 },
];
const DOOR = { device_id: 'door', name: 'Front door', area: 'Hall', devices: 1 };

function makeHub({ devices = DEVICES }: { readonly devices?: typeof DEVICES } = {}) {
  const setup = makeHttpApi();
  const calls: string[] = [];
  const parameters = {
    type: 'object',
    properties: { device_id: { type: 'string' }, seconds: { type: 'integer' } },
  };
  const forAll = {
    type: 'object',
    properties: { area: { type: 'string' }, dangerous: { type: 'boolean' }, seconds: { type: 'integer' } },
  };
  const add = (name: string, answer: (params: Record<string, unknown>) => object) =>
    setup.registry.register(
      makeTool({
        namespace: 'hub',
        name,
        permissions: FOR_ALL.includes(name) ? ['admin:hub'] : ['admin:device:{device_id}'],
        parameters: FOR_ALL.includes(name) ? forAll : parameters,
        handler: async (params) => {
          calls.push([name, ...Object.values(params as object)].join(' '));
          return answer(params as Record<string, unknown>) as never;
        },
      }),
    );
  add('share_device', ({ device_id: id }) => {
    if (id === 'plug') throw new AtmoError('DEVICE_UNREACHABLE', 'Plug does not answer');
    return { ...CODES, opened: String(id), devices: 1 };
  });
  add('close_share', () => ({ success: true }));
  add('list_devices_to_share', ({ dangerous }) => ({
    devices: dangerous === true ? [...devices, DOOR] : devices,
    left_out: dangerous === true ? [] : [DOOR],
  }));
  add('share_devices', () => ({
    shared: [{ device_id: 'lamp', name: 'Lamp <b>', area: 'Hall', devices: 1, ...CODES }],
    failed: [{ device_id: 'plug', name: 'Plug', area: 'Kitchen', code: 'DEVICE_UNREACHABLE', message: 'Plug does not answer' }],
    left_out: [DOOR],
  }));
  const run = (argv: readonly string[], io: Parameters<typeof atmo>[1] = {}) => atmo(argv, { fetch: fetchFrom(setup.httpApi), ...io });
  return { run, calls };
}

/** A terminal at which a person types these lines, and ends the input after them. */
function terminal(...keys: readonly string[]) {
  const shown: string[] = [];
  const left = keys.map((line) => ({ line }));
  const stdout = { isTTY: true, columns: 300, write: (text: string) => shown.push(text) > 0 };
  return { shown, io: { stdout, askLine: async () => left.shift() ?? ('end_of_input' as const) } };
}

describe('sharing all devices', () => {
  test('in a terminal opens one after another and closes each before the next, and says at the end how many were opened, what failed and what was left out', async () => {
    const { run, calls } = makeHub();
    const { shown, io } = terminal('', '', '');
    expect((await run(['device', 'share', '--all'], io)).code).toBe(0);
    expect(calls).toEqual([
      'list_devices_to_share',
      'share_device lamp 300',
      'close_share lamp',
      'share_device plug 300',
      'share_device fan 300',
      'close_share fan',
    ]);
    const text = shown.join('');
    expect(text).toContain('1 of 3: Lamp <b> (Hall)');
    expect(text).toContain('MT:Y.K90AFN00KA0648G00');
    expect(text).toContain('2 of 3 devices were opened\nPlug (Kitchen) is not open: Plug does not answer\nLeft out');
    expect(text).toContain('Front door (Hall). Share each by its name, or give --dangerous');
  });

  test('opens locks as well for who says --dangerous', async () => {
    const { run, calls } = makeHub();
    await run(['device', 'share', '--all', '--dangerous'], terminal('', '', '', '').io);
    expect(calls.slice(-2)).toEqual(['share_device door 300', 'close_share door']);
    await run(['device', 'share', '--all', '--dangerous', '--json']);
    expect(calls.at(-1)).toBe('share_devices true 900');
    expect((await run(['device', 'share', 'lamp', '--dangerous'])).err).toContain('go with --all');
  });

  test('opens nothing where only locks are', async () => {
    const { run, calls } = makeHub({ devices: [] });
    const { shown, io } = terminal('');
    await run(['device', 'share', '--all'], io);
    expect(calls).toEqual(['list_devices_to_share']);
    expect(shown.join('')).toMatch(/^No device is open\nLeft out.*Front door/);
  });

  test('ends when the person says so, with nothing left open', async () => {
    const { run, calls } = makeHub();
    const { shown, io } = terminal('', 's');
    await run(['device', 'share', '--all', '--area', 'hall'], io);
    expect(calls).toEqual(['list_devices_to_share hall', 'share_device lamp 300', 'close_share lamp']);
    expect(shown.join('')).toContain('1 of 3 devices were opened; you stopped before the other 2');
  });

  test.each([
    ['before the first device', [], []],
    ['after it', [''], ['share_device lamp 300', 'close_share lamp']],
  ])('ends when the input ends %s, with nothing left open', async (_, keys, asked) => {
    const { run, calls } = makeHub();
    expect((await run(['device', 'share', '--all'], terminal(...keys).io)).code).toBe(0);
    expect(calls).toEqual(['list_devices_to_share', ...asked]);
  });

  test('opens nothing if the page cannot be written, and leaves no page if the hub refuses', async () => {
    await withDirectory(async (dir) => {
      const { run, calls } = makeHub();
      const missing = join(dir, 'missing', 'codes.html');
      const { code, err } = await run(['device', 'share', '--all', '--sheet', missing]);
      expect([code, calls]).toEqual([2, []]);
      expect(err).toContain('No device was opened');
      const file = join(dir, 'codes.html');
      expect((await run(['device', 'share', '--all', '--sheet', file], { env: { ATMO_TOKEN: 'wrong' } })).code).not.toBe(0);
      expect(existsSync(file)).toBe(false);
    });
  });

  test('for a program opens all at once and answers the list', async () => {
    const { run, calls } = makeHub();
    const answer = await run(['device', 'share', '--all', '--area', 'Hall', '--json']);
    expect(answer.json()).toMatchObject({ shared: [{ device_id: 'lamp', ...CODES }], failed: [{ device_id: 'plug' }] });
    expect(calls).toEqual(['share_devices Hall 900']);
    expect((await run(['device', 'share', '--all'])).out).toContain('Plug (Kitchen) is not open: Plug does not answer');
  });

  test('writes a page for its owner alone that loads nothing, with names as text, and overwrites no file', async () => {
    await withDirectory(async (dir) => {
      const { run } = makeHub();
      const file = join(dir, 'codes.html');
      const { code, out } = await run(['device', 'share', '--all', '--sheet', file], terminal().io);
      expect([code, out]).toEqual([0, '']);
      const page = readFileSync(file, 'utf8');
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(page).toContain('<h2>Lamp &lt;b&gt;</h2>');
      expect(page).toContain('3497-011-2332');
      expect(page).toMatch(/<svg viewBox/);
      expect(page).toContain("default-src 'none'");
      expect(page).not.toMatch(/(src|href)=/);
      expect(await run(['device', 'share', '--all', '--sheet', file])).toMatchObject({ code: 2, err: expect.stringContaining('EEXIST') });
    });
  });

  test.each([
    [['device', 'share', '--all', 'lamp'], 'takes no DEVICE'],
    [['device', 'share', 'lamp', '--sheet', 'x.html'], 'go with --all'],
    [['device', 'share'], 'DEVICE'],
  ])('%j is refused with what to do', async (argv, message) => {
    const { run, calls } = makeHub();
    expect(await run(argv)).toMatchObject({ code: 2, err: expect.stringContaining(message) });
    expect(calls).toEqual([]);
  });
});
