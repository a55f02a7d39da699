import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Device } from '../../src/core/devices/device-model.ts';
import type { MatterNodeOptions } from '../../src/matter/matter-node.ts';
import { homeOf, standardHome } from '../home/home-spec.ts';
import type { VirtualDevice } from '../home/virtual-device.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { DeviceHub } from './device-hub.ts';

/** One device of the standard home, commissioned by a hub: `virtual` is the thing itself, `device` what the hub knows of it. */
export interface OneDevice extends AsyncDisposable {
  readonly hub: DeviceHub;
  readonly virtual: VirtualDevice;
  readonly device: Device;
}

/** Starts the device that has this name in the standard home, and a hub that commissions it. */
export async function startOneDevice(name: string, options: Partial<MatterNodeOptions> = {}): Promise<OneDevice> {
  await using made = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'one-device-'));
  made.defer(() => rmSync(dir, { recursive: true, force: true }));
  const home = made.use(await VirtualHome.start({ spec: homeOf(standardHome(), [name]), dir: join(dir, 'home') }));
  const hub = made.use(new DeviceHub(dir, options));
  await hub.start();
  const virtual = home.device(name);
  const [device] = await hub.commission(virtual);
  if (device === undefined) return expect.unreachable('no device came');
  const running = made.move();
  return { hub, virtual, device, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
