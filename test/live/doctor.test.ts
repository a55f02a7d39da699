import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { CheckResult } from '../../src/doctor/check-result.ts';
import { networkChecks, portCheck } from '../../src/doctor/network-checks.ts';

const ports = { mesh: 8082, isHubThere: false };
const named = (checks: readonly CheckResult[], name: string) => checks.find(({ check }) => check === name);

describe('the network of this machine', () => {
  test('is well when multicast comes back on each interface and nobody holds the port of mDNS alone', async () => {
    const checks = await networkChecks(ports);
    expect(named(checks, 'interfaces')).toMatchObject({
      state: 'ok',
      found: expect.stringContaining('eth0 10.77.0.1 fd00:77::1 fe80::77:1'),
    });
    expect(named(checks, 'multicast')).toMatchObject({ state: 'ok', found: 'heard on eth0' });
    expect(named(checks, 'UDP port 5353')).toMatchObject({ state: 'ok' });
    const alone = await networkChecks({ ...ports, isHubThere: true, isInMesh: false });
    expect(named(alone, 'mesh port 8082')).toMatchObject({ state: 'ok', found: 'not used: this hub is in no mesh' });
  });

  test('is not when a program holds the port of mDNS alone', async () => {
    await using socket = createSocket('udp6');
    socket.bind(5353);
    await once(socket, 'listening');
    const check = named(await networkChecks(ports), 'UDP port 5353');
    expect(check).toMatchObject({ state: 'failed', advice: expect.stringContaining("ss -ulpn 'sport = :5353'") });
  });

  test('a port is free, the hub has it, or somebody else', async () => {
    await using server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    expect((await portCheck('HTTP', port, true)).state).toBe('ok');
    expect(await portCheck('HTTP', port, false)).toMatchObject({ state: 'failed', advice: expect.stringContaining(`:${port}'`) });
    server.close();
    await once(server, 'close');
    expect(await portCheck('HTTP', port, false)).toMatchObject({ state: 'ok', found: 'free' });
  });
});
