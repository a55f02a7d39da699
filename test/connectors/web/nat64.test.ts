import { describe, expect, test } from 'vitest';
import { embeddedIpv4, isPublicAddress, nat64Prefixes } from '../../../src/connectors/web/address-policy.ts';

/** The examples of RFC 6052 §2.4, which stand for 192.0.2.33. */
const EXAMPLES: readonly [string, number, string][] = [
  ['2001:db8::', 32, '2001:db8:c000:221::'],
  ['2001:db8:100::', 40, '2001:db8:1c0:2:21::'],
  ['2001:db8:122::', 48, '2001:db8:122:c000:2:2100::'],
  ['2001:db8:122:300::', 56, '2001:db8:122:3c0:0:221::'],
  ['2001:db8:122:344::', 64, '2001:db8:122:344:c0:2:2100::'],
  ['2001:db8:122:344::', 96, '2001:db8:122:344::192.0.2.33'],
];

test.each(EXAMPLES)('%s/%i translates as the RFC says', (network, prefix, address) => {
  expect(embeddedIpv4([{ network, prefix }])(address)).toBe('192.0.2.33');
});

test('an address outside of all networks has no IPv4 address', () => {
  const embedded = embeddedIpv4([{ network: '2a00:64::', prefix: 96 }]);
  expect(['2a00:65::c0a8:101', '::ffff:192.168.1.1', '192.168.1.1', 'nas.lan'].map(embedded)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(embedded('64:ff9b::192.168.1.1')).toBe('192.168.1.1');
});

test.each([
  ['64:ff9b::c000:aa', 96],
  ['2a00:64::192.0.0.171', 96],
  ['2a00:64:1:2:c0:0:aa00:0', 64],
  ['2a00:64:c000:aa::', 32],
])('the network of %s is found by the addresses of ipv4only.arpa', (address, prefix) => {
  expect(nat64Prefixes([address])).toEqual([{ network: address, prefix }]);
});

test('a resolver that translates nothing shows no network', () => {
  expect(nat64Prefixes(['192.0.0.170', '2a00:1450:4001:81b::200e'])).toEqual([]);
});

describe("behind a NAT64 of the provider's own", () => {
  const embedded = embeddedIpv4(nat64Prefixes(['2a00:64::c000:aa', '2a00:64::c000:ab']));

  test('private machines cannot be named through it', () => {
    for (const ipv4 of ['192.168.1.1', '10.0.0.1', '127.0.0.1', '169.254.169.254', '100.64.0.1']) {
      expect(isPublicAddress(`2a00:64::${ipv4}`, embedded), ipv4).toBe(false);
      expect(isPublicAddress(`64:ff9b::${ipv4}`, embedded), ipv4).toBe(false);
    }
  });

  test('public ones can, as can those that have IPv6 themselves', () => {
    const addresses = ['2a00:64::93.184.215.14', '64:ff9b::93.184.215.14', '2606:4700::1111'];
    expect(addresses.map((address) => isPublicAddress(address, embedded))).toEqual([true, true, true]);
  });

  test('a network for local use stays closed, whatever it stands for', () => {
    expect(isPublicAddress('64:ff9b:1::93.184.215.14', embeddedIpv4(nat64Prefixes(['64:ff9b:1::192.0.0.170'])))).toBe(false);
  });
});
