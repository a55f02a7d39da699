import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { describeDeviceAccess, type LampBench } from '../contracts/device-access.ts';
import { homeOf, standardHome, together } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { DeviceHub, until } from '../matter/device-hub.ts';

const LAMP = 'Living room lamp';

interface MatterLampBench extends LampBench {
  readonly hub: DeviceHub;
}

async function openBench(reportDelayMs?: number): Promise<MatterLampBench> {
  const dir = mkdtempSync(join(tmpdir(), 'device-access-'));
  const { devices } = together(homeOf(standardHome(), [LAMP]));
  const spec = { devices: devices.map((device) => ({ ...device, ...(reportDelayMs !== undefined && { reportDelayMs }) })) };
  const home = await VirtualHome.start({ spec, dir: join(dir, 'home') });
  const hub = new DeviceHub(dir);
  await hub.start();
  const lamp = home.device(LAMP);
  const [device] = await hub.commission(lamp);
  return {
    hub,
    access: hub.devices,
    directory: hub.devices,
    lamp: device?.id ?? expect.unreachable(),
    isOn: async () => (await lamp.get(1, 'OnOff', 'OnOff')) === true,
    turn: (isOn) => lamp.set(1, 'OnOff', 'OnOff', isOn),
    power: (isPowered) => (isPowered ? lamp.powerOn() : lamp.powerOff()),
    nowMs: () => performance.now(),
    during: (work) => work,
    until: async (condition) => void (await until(condition, 60_000)),
    [Symbol.asyncDispose]: async () => {
      await hub[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

describeDeviceAccess('a lamp over Matter', openBench);

describe('a lamp that reports at once', () => {
  const SWITCHES = 40;
  let bench: MatterLampBench;
  beforeAll(async () => {
    bench = await openBench(0);
  });
  afterAll(async () => await bench?.[Symbol.asyncDispose]());

  test('is hardly ever read after a command, and answers with what it reported after it', async () => {
    const { access, lamp: device } = bench;
    await bench.until(() => access.isCurrent(device));
    const path = { device, endpoint: 1, cluster: 'OnOff', attribute: 'OnOff' };
    const signal = AbortSignal.timeout(60_000);
    const reads = vi.spyOn(bench.hub.devices.peerOf(device).interaction, 'read');
    const first = await bench.isOn();
    for (let turn = 1; turn <= SWITCHES; turn++) {
      const wanted = turn % 2 === 1 ? !first : first;
      using readBack = access.awaitReports([{ path, isReached: (value) => value === wanted }]);
      await access.invoke({ device, endpoint: 1, cluster: 'OnOff', command: wanted ? 'On' : 'Off' }, {}, { signal });
      expect(await readBack.read({ signal })).toMatchObject([{ path, value: wanted, reachability: 'reachable' }]);
      expect(await bench.isOn()).toBe(wanted);
      expect(access.cached(path)?.value).toBe(wanted);
    }
    expect(reads.mock.calls.length).toBeLessThan(SWITCHES / 2);
  });
});
