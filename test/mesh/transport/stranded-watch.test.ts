import type { networkInterfaces } from 'node:os';
import { describe, expect, test } from 'vitest';
import { LostAddressWatch } from '../../../src/mesh/transport/dead-connections.ts';
import { ManualClock } from '../../manual-clock.ts';

type Interfaces = ReturnType<typeof networkInterfaces>;

function interfacesWith(...addresses: readonly string[]): Interfaces {
  return { eth0: addresses.map((address) => ({ address, family: 'IPv4', netmask: '', mac: '', internal: false, cidr: null })) };
}

describe('connections whose address is gone', () => {
  function watched(...localHosts: readonly (string | undefined)[]) {
    const clock = new ManualClock();
    const lab = { clock, interfaces: interfacesWith('10.0.0.1', 'fe80::1%eth0'), dropped: [] as (string | undefined)[] };
    const connections = localHosts.map((localHost) => ({ localHost }));
    const drop = ({ localHost }: { readonly localHost: string | undefined }) => void lab.dropped.push(localHost);
    new LostAddressWatch({ clock, connections: () => connections, drop, list: () => lab.interfaces }).start();
    return lab;
  }

  test('are ended within two seconds, the others are not', () => {
    const lab = watched('10.0.0.1', '::ffff:10.0.0.1', 'fe80::1', '127.0.0.5', undefined);
    lab.clock.advance(5_000);
    expect(lab.dropped).toEqual([]);
    lab.interfaces = interfacesWith('10.0.0.2', 'fe80::1%eth0');
    lab.clock.advance(2_000);
    expect(lab.dropped).toEqual(['10.0.0.1', '::ffff:10.0.0.1']);
  });

  test('stay when it is back within a second', () => {
    const lab = watched('10.0.0.1');
    lab.interfaces = interfacesWith();
    lab.clock.advance(1_000);
    lab.interfaces = interfacesWith('10.0.0.1');
    lab.clock.advance(5_000);
    expect(lab.dropped).toEqual([]);
  });
});
