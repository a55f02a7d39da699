import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { addressSet, isPublicAddress } from '../../../src/connectors/web/address-policy.ts';

test.each(['1.1.1.1', '93.184.215.14', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1450:4001:81b::200e', '64:ff9b::8.8.8.8'])(
  '%s is a public machine',
  (address) => {
    expect(isPublicAddress(address)).toBe(true);
  },
);

test.each([
  ['this host', '0.0.0.0'],
  ['private', '10.1.2.3'],
  ['carrier-grade NAT', '100.64.0.1'],
  ['loopback', '127.255.0.1'],
  ['link-local, where clouds keep credentials', '169.254.169.254'],
  ['private', '172.31.255.255'],
  ['protocol assignments', '192.0.0.8'],
  ['private', '192.168.178.1'],
  ['documentation', '192.0.2.1'],
  ['relay of 6to4', '192.88.99.1'],
  ['documentation', '198.51.100.1'],
  ['documentation', '203.0.113.1'],
  ['reserved', '240.0.0.1'],
  ['benchmarks', '198.19.0.1'],
  ['multicast', '239.255.255.250'],
  ['broadcast', '255.255.255.255'],
  ['unspecified', '::'],
  ['loopback', '::1'],
  ['mapped loopback', '::ffff:127.0.0.1'],
  ['mapped, though of a public address', '::ffff:8.8.8.8'],
  ['compatible', '::7f00:1'],
  ['NAT64 of loopback', '64:ff9b::7f00:1'],
  ['local NAT64', '64:ff9b:1::a00:1'],
  ['link-local', 'fe80::1'],
  ['link-local with a zone', 'fe80::1%eth0'],
  ['unique local', 'fd12::1'],
  ['multicast', 'ff02::fb'],
  ['Teredo', '2001:0:4136:e378::1'],
  ['documentation', '2001:db8::1'],
  ['6to4 of a private address', '2002:c0a8:101::1'],
  ['a name', 'localhost'],
  ['nothing', ''],
])('%s (%s) is not', (_, address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test('no address of the machine itself is public, whatever its range', () => {
  const own = Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => address));
  expect(own.length).toBeGreaterThan(0);
  expect(own.filter((address) => isPublicAddress(address))).toEqual([]);
});

test('a set of networks knows IPv4 under its mapped form too', () => {
  const set = addressSet(['192.168.1.0/24', 'fd00::/8']);
  expect(['192.168.1.7', '::ffff:192.168.1.7', 'fd00::1'].map(set)).toEqual([true, true, true]);
  expect(['192.168.2.7', '::ffff:192.168.2.7', 'fe80::1', 'nas.lan'].map(set)).toEqual([false, false, false, false]);
});
