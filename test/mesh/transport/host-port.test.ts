import { describe, expect, test } from 'vitest';
import { formatHostPort, parseHostPort } from '../../../src/mesh/transport/mesh-engine.ts';
import { toMultiaddr } from '../../../src/mesh/transport/tcp-connection.ts';

test.each([
  ['10.0.0.1', '10.0.0.1:7481', '/ip4/10.0.0.1/tcp/7481'],
  ['fd00::1', '[fd00::1]:7481', '/ip6/fd00::1/tcp/7481'],
  ['fe80::1%eth0', '[fe80::1%eth0]:7481', '/ip6zone/eth0/ip6/fe80::1/tcp/7481'],
  ['hub.example', 'hub.example:7481', '/dns/hub.example/tcp/7481'],
])('%s is told as %s and handed to libp2p as %s', (host, told, libp2p) => {
  expect(formatHostPort({ host, port: 7481 })).toBe(told);
  expect(toMultiaddr(host, 7481).toString()).toBe(libp2p);
});

describe('host and port', () => {
  test('are read with brackets, without them, with a zone, with a name', () => {
    expect(parseHostPort('10.0.0.1:80')).toEqual({ host: '10.0.0.1', port: 80 });
    expect(parseHostPort('[fe80::1%eth0]:8082')).toEqual({ host: 'fe80::1%eth0', port: 8082 });
    expect(parseHostPort('fd00::1:8082')).toEqual({ host: 'fd00::1', port: 8082 });
    expect(parseHostPort('hub.example.org:1')).toEqual({ host: 'hub.example.org', port: 1 });
  });

  test('are undefined for anything else', () => {
    for (const text of ['', 'hub', ':80', 'hub:', 'hub:0', 'hub:65536', 'hub:x', 'a b:80', '[]:80', '[x:80'])
      expect(parseHostPort(text)).toBeUndefined();
  });
});
