import type { NetworkInterfaceInfo } from 'node:os';
import { expect, test } from 'vitest';
import { requireInterface } from '../../src/matter/network-interface.ts';

const addressed = (internal: boolean): NetworkInterfaceInfo[] => [
  { address: '192.0.2.7', netmask: '255.255.255.0', family: 'IPv4', mac: '02:00:00:00:00:07', internal, cidr: '192.0.2.7/24' },
];

test('an interface with an address is accepted', () => {
  expect(() => requireInterface('wlan0', { lo: addressed(true), wlan0: addressed(false) })).not.toThrow();
});

test('the error of a missing interface names it, and the present ones', () => {
  const present = { lo: addressed(true), end0: addressed(false), wlan0: addressed(false) };
  expect(() => requireInterface('eth0', present)).toThrow(
    expect.objectContaining({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.stringMatching(
        /^This machine has no network interface "eth0" with an address; there are end0, wlan0\. Correct matter\.interface/,
      ),
    }),
  );
});

test('the error names a machine without any network', () => {
  expect(() => requireInterface('eth0', { lo: addressed(true) })).toThrow('there is none at all');
});
