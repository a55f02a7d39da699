import { expect, test } from 'vitest';
import { serialPorts } from '../../../src/sensors/serial/serial-port.ts';

test('without the package the error says how to install it', async () => {
  const open = serialPorts(() => Promise.reject(new Error('Cannot find package')));
  const settings = { path: '/dev/ttyUSB0', baud: 9600, parity: 'none', dataBits: 8, stopBits: 1 } as const;
  await expect(open(settings, { data() {}, closed() {} })).rejects.toMatchObject({
    code: 'NOT_CONFIGURED',
    message: expect.stringContaining('npm install --ignore-scripts serialport'),
  });
});
