import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { describeDeviceAccess, type LampBench } from '../contracts/device-access.ts';
import { homeOf, standardHome, together } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { DeviceHub, until } from '../matter/device-hub.ts';

const LAMP = 'Living room lamp';

async function openBench(): Promise<LampBench> {
  const dir = mkdtempSync(join(tmpdir(), 'device-access-'));
  const home = await VirtualHome.start({ spec: together(homeOf(standardHome(), [LAMP])), dir: join(dir, 'home') });
  const hub = new DeviceHub(dir);
  await hub.start();
  const lamp = home.device(LAMP);
  const [device] = await hub.commission(lamp);
  return {
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
