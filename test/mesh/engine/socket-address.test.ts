import { expect, test } from 'vitest';
import { formatSocketAddress } from '../../../src/mesh/engine/socket-address.ts';
import { toMultiaddr } from '../../../src/mesh/engine/socket-multiaddr.ts';

test.each([
  ['10.0.0.1', '10.0.0.1:7481', '/ip4/10.0.0.1/tcp/7481'],
  ['fd00::1', '[fd00::1]:7481', '/ip6/fd00::1/tcp/7481'],
  ['fe80::1%eth0', '[fe80::1%eth0]:7481', '/ip6zone/eth0/ip6/fe80::1/tcp/7481'],
  ['hub.example', 'hub.example:7481', '/dns/hub.example/tcp/7481'],
])('%s is told as %s and handed to libp2p as %s', (host, told, libp2p) => {
  expect(formatSocketAddress({ host, port: 7481 })).toBe(told);
  expect(toMultiaddr(host, 7481).toString()).toBe(libp2p);
});
