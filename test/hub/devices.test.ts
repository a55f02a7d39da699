import { expect, test } from 'vitest';
import type { DeviceChange } from '../../src/core/devices/device-directory.ts';
import type { Device } from '../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../src/core/devices/device-names.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { createLogger } from '../../src/core/logger.ts';
import { followAreaRenames } from '../../src/hub/devices.ts';

test.each(['The disk is full', 'The disk is mounted read-only'])(
  'a device that could not be moved to the room of today stops no start, is told in the log, and moves later: %s',
  async (message) => {
    const device = { id: parseDeviceId('lamp'), area: 'Parlour' } as Device;
    const lines: string[] = [];
    let moved: string | null = null;
    let isFull = true;
    let tell: (change: DeviceChange) => void = () => undefined;
    const setArea = (_id: unknown, area: string | null) => {
      if (isFull) throw new AtmoError('STORAGE_FAILED', message);
      moved = area;
      return device;
    };
    const directory = {
      list: () => [device],
      onChange: (listener: (change: DeviceChange) => void) => {
        tell = listener;
        return () => undefined;
      },
    };
    const logger = createLogger('error', (line) => void lines.push(line));
    await using _kept = followAreaRenames({ directory, administration: { setArea } }, { names: { areaToday: () => 'Salon' }, logger });
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ event: 'device.area_not_kept', device: 'lamp', problem: message }]);
    isFull = false;
    tell({ kind: 'changed', device } as DeviceChange);
    expect(moved).toBe('Salon');
  },
);
