import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';
import { makeDevice, makeHttpApi } from '../../http/http-fixture.ts';
import { atmo, fetchFrom, withDirectory } from '../cli-fixture.ts';

const CODES = { qr_code: 'MT:Y.K90AFN00KA0648G00', manual_code: '34970112332', expires_at: '2026-01-01T00:15:00.000Z' };

function makeHub() {
  const setup = makeHttpApi();
  setup.directory.devices = [
    makeDevice('lamp', { name: 'Lamp <b>', area: 'Hall', nodeId: '1' }),
    makeDevice('plug', { name: 'Plug', area: 'Kitchen', nodeId: '2' }),
    makeDevice('fan', { name: 'Fan', area: 'Hall', nodeId: '3' }),
    makeDevice('spot', { name: 'Spot', area: 'Hall', nodeId: '4', kind: 'bridged' }),
  ];
  const calls: string[] = [];
  const parameters = {
    type: 'object',
    properties: { device_id: { type: 'string' }, seconds: { type: 'integer' } },
  };
  const forAll = { type: 'object', properties: { area: { type: 'string' }, seconds: { type: 'integer' } } };
  const add = (name: string, answer: (params: Record<string, unknown>) => object) =>
    setup.registry.register(
      makeTool({
        namespace: 'hub',
        name,
        permissions: name === 'share_devices' ? ['admin:hub'] : ['admin:device:{device_id}'],
        parameters: name === 'share_devices' ? forAll : parameters,
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
  add('share_devices', () => ({
    shared: [{ device_id: 'lamp', name: 'Lamp <b>', area: 'Hall', devices: 1, ...CODES }],
    failed: [{ device_id: 'plug', name: 'Plug', area: 'Kitchen', code: 'DEVICE_UNREACHABLE', message: 'Plug does not answer' }],
  }));
  const run = (argv: readonly string[], io: Parameters<typeof atmo>[1] = {}) => atmo(argv, { fetch: fetchFrom(setup.httpApi), ...io });
  return { run, calls };
}

/** A terminal at which a person presses these keys before each Enter. */
function terminal(keys: readonly string[]) {
  const shown: string[] = [];
  const left = [...keys];
  const stdout = { isTTY: true, columns: 120, write: (text: string) => shown.push(text) > 0 };
  return { shown, io: { stdout, askSecret: async () => left.shift() } };
}

describe('sharing all devices', () => {
  test('in a terminal opens one after another and closes each before the next, and tells at the end what failed', async () => {
    const { run, calls } = makeHub();
    const { shown, io } = terminal(['', '', '']);
    expect((await run(['device', 'share', '--all'], io)).code).toBe(0);
    expect(calls).toEqual([
      'share_device lamp 300',
      'close_share lamp',
      'share_device plug 300',
      'share_device fan 300',
      'close_share fan',
    ]);
    const text = shown.join('');
    expect(text).toContain('1 of 3: Lamp <b> (Hall)');
    expect(text).toContain('MT:Y.K90AFN00KA0648G00');
    expect(text).toContain('Not opened:\nPlug (Kitchen) is not open: Plug does not answer');
  });

  test('ends when the person says so, with nothing left open', async () => {
    const { run, calls } = makeHub();
    await run(['device', 'share', '--all', '--area', 'hall'], terminal(['', 's']).io);
    expect(calls).toEqual(['share_device lamp 300', 'close_share lamp']);
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
      const { code, out } = await run(['device', 'share', '--all', '--sheet', file], terminal([]).io);
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
