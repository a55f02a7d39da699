import { expect, test } from 'vitest';
import type { DeviceDirectory } from '../../../src/core/devices/device-directory.ts';
import type { AttributePath, Device } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { NetworkSurvey } from '../../../src/matter/administration/network-topology.ts';

const WIFI = { name: 'WiFiNetworkDiagnostics', attributes: [{ name: 'Rssi' }, { name: 'OverrunCount' }] };

/** A directory of nodes on Wi-Fi. */
function directoryOf(
  devices: readonly { readonly id: string; readonly reachability?: string; readonly parent?: string }[],
): DeviceDirectory {
  const list = devices.map((device) => ({ name: device.id, reachability: 'reachable', ...device })) as unknown as readonly Device[];
  const describe = () => ({ endpoints: [{ endpoint: 0, clusters: [WIFI] }] });
  return { list: () => list, describe } as unknown as DeviceDirectory;
}

const answer = (paths: readonly AttributePath[]) =>
  paths.map((path) => ({ path, value: -40, atMs: 0, reachability: 'reachable' as const }));

test('the survey reads the supported attributes of every node, and none of bridged devices', async () => {
  const asked: string[] = [];
  const directory = directoryOf([{ id: 'plug' }, { id: 'bridged', parent: 'plug' }]);
  const access = {
    read: async (paths: readonly AttributePath[]) => {
      asked.push(...paths.map(({ device, attribute }) => `${device} ${attribute}`));
      return answer(paths);
    },
  };
  const { nodes } = await new NetworkSurvey({ directory, access }).topology(new AbortController().signal);
  expect(asked).toEqual(['plug Rssi']);
  expect(nodes).toMatchObject([{ id: 'plug', kind: 'wifi', rssi: -40 }]);
});

test('unreachable and failed nodes are listed with the reason, and the others are read', async () => {
  const directory = directoryOf([{ id: 'away', reachability: 'unreachable' }, { id: 'ill' }, { id: 'plug' }]);
  const access = {
    read: async (paths: readonly AttributePath[]) => {
      if (paths[0]?.device === parseDeviceId('ill')) throw new AtmoError('DEVICE_UNREACHABLE', 'ill does not answer');
      return answer(paths);
    },
  };
  const { nodes } = await new NetworkSurvey({ directory, access }).topology(new AbortController().signal);
  expect(nodes.map(({ id, problem }) => [id, problem])).toEqual([
    ['away', 'is not reachable'],
    ['ill', 'ill does not answer'],
    ['plug', undefined],
  ]);
});

test('at most four nodes are read at once', async () => {
  let running = 0;
  let most = 0;
  const access = {
    read: async (paths: readonly AttributePath[]) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return answer(paths);
    },
  };
  const directory = directoryOf(Array.from({ length: 11 }, (_, index) => ({ id: `plug-${index}` })));
  const { nodes } = await new NetworkSurvey({ directory, access }).topology(new AbortController().signal);
  expect([nodes.length, most]).toEqual([11, 4]);
});

test('a cancelled survey ends', async () => {
  const controller = new AbortController();
  const access = {
    read: async (): Promise<never> => {
      controller.abort(new AtmoError('CANCELLED', 'enough'));
      throw new AtmoError('CANCELLED', 'enough');
    },
  };
  await expect(new NetworkSurvey({ directory: directoryOf([{ id: 'plug' }]), access }).topology(controller.signal)).rejects.toThrow(
    'enough',
  );
});
