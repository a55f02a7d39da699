import { expect, test } from 'vitest';
import { agent } from '../../calls/pipeline-fixture.ts';
import { authenticatorOf, makeDevice, makeHttpApi } from '../../http/http-fixture.ts';
import { atmo, fetchFrom } from '../cli-fixture.ts';

function makeHouse() {
  const setup = makeHttpApi({ authenticator: authenticatorOf({ narrow: agent('device:control:lamp') }) });
  setup.directory.devices = [makeDevice('lamp', { name: 'Hall lamp' }), makeDevice('door')];
  for (const device of ['lamp', 'door'])
    setup.addTool({
      name: `${device}_use`,
      requires: { permissions: [`device:control:${device}`] },
      metadata: { category: 'acting', device },
    });
  const run = (device: string, token: string) =>
    atmo(['tools', '--device', device, '--json'], { fetch: fetchFrom(setup.httpApi), env: { ATMO_TOKEN: token } });
  return { run };
}

test('the tools of a device are found by its id and by its name', async () => {
  const { run } = makeHouse();
  for (const device of ['lamp', 'Hall lamp']) expect((await run(device, 'narrow')).json().tools).toHaveLength(1);
});

test('an unknown device is the same error as one that the token may not read', async () => {
  const { run } = makeHouse();
  const [absent, hidden] = [await run('doom', 'narrow'), await run('door', 'narrow')];
  expect([absent.code, absent.json().error.code]).toEqual([2, 'DEVICE_NOT_FOUND']);
  expect(hidden.out.replaceAll('door', 'X')).toBe(absent.out.replaceAll('doom', 'X'));
  expect(hidden.code).toBe(2);
});

test('a search prints the confidence, the reasons, and near misses', async () => {
  const found = {
    tools: [
      {
        id: 'matter:dim@1.0.0',
        score: 1.914,
        confidence: 0.93,
        reasons: ['area: hall', 'tag: bright'],
        metadata: { title: 'Set brightness' },
      },
    ],
    near_misses: [
      { id: 'matter:attic@1.0.0', score: 0.4, confidence: 0.31, reasons: ['action: dim', 'missing: hall'], metadata: { title: 'Dim' } },
    ],
  };
  const asked: string[] = [];
  const search = (answer: object, ...options: string[]) =>
    atmo(['tools', '--search', 'dim the hall', ...options], { fetch: answering(asked, answer) });
  const { out } = await search(found, '--category', 'acting');
  expect(out).toMatch(/matter:dim@1\.0\.0 +93 % +Set brightness +area: hall, tag: bright/);
  expect(out).toMatch(/Almost\n.*LACKS[\s\S]*matter:attic@1\.0\.0 +31 % +Dim +hall/);
  expect(asked[0]).toMatch(/\/api\/v1\/tools\?category=acting&q=dim\+the\+hall$/);
  expect((await search(found, '--json')).json()).toEqual({ ...found, total: 1 });
  expect((await search({ tools: [], near_misses: [] })).out).toBe('Nothing fits; "atmo tools" lists all there are\n');
});

test('the devices of another hub are listed from its tools', async () => {
  const tools = [
    { id: 'matter:lamp_on@1.0.0', metadata: { device: 'lamp', area: 'Shed' } },
    { id: 'matter:lamp_off@1.0.0', metadata: { device: 'lamp', area: 'Shed' } },
    { id: 'core:echo@1.0.0', metadata: {} },
    { id: 'matter:pump_on@1.0.0', metadata: { device: 'pump' } },
  ];
  const asked: string[] = [];
  const run = (...argv: string[]) => atmo(['devices', '--hub', 'shed', ...argv], { fetch: answering(asked, { tools }) });
  expect((await run('--json')).json().devices).toEqual([
    { id: 'lamp', area: 'Shed', tools: ['matter:lamp_on@1.0.0', 'matter:lamp_off@1.0.0'] },
    { id: 'pump', area: null, tools: ['matter:pump_on@1.0.0'] },
  ]);
  expect(asked[0]).toContain('node=shed');
  expect((await run('pump')).out).toMatch(/pump +- +matter:pump_on@1\.0\.0/);
  expect(await run('doom')).toMatchObject({ code: 2, err: expect.stringContaining('atmo devices --hub shed') });
});

/** A hub that notes what it is asked and always answers the same. */
function answering(asked: string[], answer: object) {
  return async (url: string): Promise<Response> => {
    asked.push(url);
    return Response.json(answer);
  };
}
