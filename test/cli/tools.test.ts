import { expect, test } from 'vitest';
import { authenticatorOf, makeDevice, makeGateway } from '../gateway/gateway-room.ts';
import { agent } from '../tools/tool-room.ts';
import { atmo, fetchFrom } from './cli-room.ts';

function makeHouse() {
  const room = makeGateway({ authenticator: authenticatorOf({ narrow: agent('device:control:lamp') }) });
  room.directory.devices = [makeDevice('lamp', { name: 'Hall lamp' }), makeDevice('door')];
  for (const device of ['lamp', 'door'])
    room.addTool({
      name: `${device}_use`,
      requires: { permissions: [`device:control:${device}`] },
      metadata: { category: 'acting', device },
    });
  const run = (device: string, token: string) =>
    atmo(['tools', '--device', device, '--json'], { fetch: fetchFrom(room.gateway), env: { ATMO_TOKEN: token } });
  return { run };
}

test('the tools of a device are found by its id and by its name', async () => {
  const { run } = makeHouse();
  for (const device of ['lamp', 'Hall lamp']) expect((await run(device, 'narrow')).json().tools).toHaveLength(1);
});

test('a device that is not there is an error, and one that the token may not see is the same one', async () => {
  const { run } = makeHouse();
  const [absent, hidden] = [await run('doom', 'narrow'), await run('door', 'narrow')];
  expect([absent.code, absent.json().error.code]).toEqual([2, 'DEVICE_NOT_FOUND']);
  expect(hidden.out.replaceAll('door', 'X')).toBe(absent.out.replaceAll('doom', 'X'));
  expect(hidden.code).toBe(2);
});
