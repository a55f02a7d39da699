import { describe, expect, test } from 'vitest';
import { CLIENT_PROGRAM } from '../../src/cli/client-table.ts';
import { HUB_PROGRAM } from '../../src/cli/command-table.ts';
import { welcome } from '../../src/cli/run-cli.ts';
import { makeDevice, makeHttpApi } from '../http/http-fixture.ts';
import { atmo, fetchFrom } from './cli-fixture.ts';

describe('atmo alone', () => {
  test('prints the first steps without a hub', async () => {
    const { code, out } = await atmo([]);
    expect(code).toBe(2);
    expect(out).toMatch(/No hub answers at http:\/\/127\.0\.0\.1:8081\.[\s\S]*atmo serve/);
  });

  test('prints the steps to a token, and to the first device', async () => {
    const { httpApi, directory } = makeHttpApi();
    const fetch = fetchFrom(httpApi);
    expect((await atmo([], { fetch, env: { ATMO_TOKEN: 'guess' } })).out).toMatch(/not to you[\s\S]*sudo atmo login/);
    directory.devices = [];
    expect((await atmo([], { fetch })).out).toMatch(/no devices yet[\s\S]*atmo commission CODE/);
  });

  test('prints the state of the home and waiting approvals', async () => {
    const { httpApi, directory, addTool } = makeHttpApi();
    directory.devices = [makeDevice('lamp'), makeDevice('attic', { reachability: 'unreachable' })];
    addTool({
      namespace: 'hub',
      name: 'list_approvals',
      handler: async () => ({ approvals: [{ state: 'pending' }, { state: 'denied' }] }),
    });
    const { out, json } = await atmo([], { fetch: fetchFrom(httpApi) });
    expect(out).toMatch(/has 2 devices, 1 not reachable\. A call waits for your approval\.[\s\S]*atmo approvals/);
    expect(() => json()).toThrow();
    expect((await atmo(['--json'], { fetch: fetchFrom(httpApi) })).json()).toMatchObject({ standing: 'home' });
  });

  test.each([
    ['the hub', HUB_PROGRAM],
    ['a client', CLIENT_PROGRAM],
  ])('names only existing commands of the package of %s', (_package, { sections, firstSteps }) => {
    const standings = [
      { kind: 'no-hub' },
      { kind: 'no-token', problem: '' },
      { kind: 'no-devices' },
      { kind: 'home', devices: [], waiting: 1 },
    ] as const;
    const words = standings.flatMap((standing) => welcome(standing, 'http://x', firstSteps).filter((part) => typeof part === 'string'));
    const named = words.flatMap((text) => [...text.matchAll(/^ +(?:sudo )?atmo ([a-z]+)/gm)].map(([, name]) => name));
    expect(named.length).toBeGreaterThan(10);
    expect(
      named.filter((name) => !sections.some(({ commands }) => commands.some((command) => command.name.split(' ')[0] === name))),
    ).toEqual([]);
  });
});
