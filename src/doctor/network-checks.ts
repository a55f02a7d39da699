import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { systemCode } from '../core/errors.ts';
import { type CheckResult, type Finding, failed, type HubPorts, named, ok, warning } from './check-result.ts';
import { networkTimeCheck } from './machine-checks.ts';

const IFF_MULTICAST = 0x1000;
/** The mDNS group in the interface-local scope (RFC 4291 §2.7). Datagrams to it never leave the machine. */
const PROBE_GROUP = 'ff01::fb';
const PROBE_MS = 1_000;
const MDNS_PORT = 5353;

/** Checks what this machine needs to reach devices and other hubs: interfaces, multicast, ports and time. No packet leaves the machine. */
export async function networkChecks({ http, mesh, isHubThere, isInMesh }: HubPorts): Promise<readonly CheckResult[]> {
  return Promise.all([
    named('interfaces', interfaceCheck()),
    multicastCheck().then((finding) => named('multicast', finding)),
    mdnsPortCheck().then((finding) => named(`UDP port ${MDNS_PORT}`, finding)),
    ...(http === undefined ? [] : [portCheck('HTTP', http, isHubThere)]),
    isInMesh === false ? named(`mesh port ${mesh}`, ok('not used: this hub is in no mesh')) : portCheck('mesh', mesh, isHubThere),
    networkTimeCheck().then((finding) => named('network time', finding)),
  ]);
}

/** Checks that an interface has an IPv6 link-local address, which Matter needs. */
function interfaceCheck(): Finding {
  const found = linkLocalInterfaces();
  if (found.length > 0) return ok(found.map(addressesOf).join('; '));
  const advice = 'Matter needs IPv6: sudo sysctl net.ipv6.conf.all.disable_ipv6=0';
  return failed('none has an IPv6 link-local address', advice);
}

/** Checks that multicast works: each interface must receive a datagram that it sends to a group. No datagram leaves the machine. */
async function multicastCheck(): Promise<Finding> {
  const able = linkLocalInterfaces().filter(isMulticast);
  if (able.length === 0) return failed('no interface', 'devices are found by multicast: sudo ip link set DEV multicast on');
  const received = await Promise.all(able.map(receivesOwnMulticast));
  const deaf = able.filter((_name, index) => !received[index]);
  if (deaf.length === 0) return ok(`heard on ${able.join(', ')}`);
  const advice = 'a firewall keeps it away: let UDP 5353 and ICMPv6 in, and see that the hub may use all interfaces';
  return warning(`not heard on ${deaf.join(', ')}`, advice);
}

/** Checks that the hub can share the mDNS port with other programs on this machine. */
async function mdnsPortCheck(): Promise<Finding> {
  const socket = createSocket({ type: 'udp6', reuseAddr: true });
  try {
    socket.bind(MDNS_PORT);
    await once(socket, 'listening');
    return ok('can be shared');
  } catch (error) {
    const advice = `another program holds it alone: sudo ss -ulpn 'sport = :${MDNS_PORT}' tells which`;
    return failed(`cannot be shared (${systemCode(error)})`, advice);
  } finally {
    socket.close();
  }
}

/** Checks that a TCP port of the hub is free. If a hub runs, the port may also be in use. */
export async function portCheck(name: string, port: number, isHubThere: boolean): Promise<CheckResult> {
  return named(`${name} port ${port}`, portFinding(port, await bindProblem(port), isHubThere));
}

function portFinding(port: number, problem: string | undefined, isHubThere: boolean): Finding {
  if (problem === undefined) return ok(isHubThere ? 'free here: the hub listens elsewhere' : 'free');
  if (problem !== 'EADDRINUSE') return warning(problem, 'ports below 1024 are for root: choose another');
  if (isHubThere) return ok('in use while the hub runs');
  const advice = `sudo ss -tlpn 'sport = :${port}' tells by whom; end it, or give the hub another port in config.yaml`;
  return failed('in use, and no hub answers there', advice);
}

function linkLocalInterfaces(): readonly string[] {
  return Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
    addresses?.some(({ family, address }) => family === 'IPv6' && address.startsWith('fe80:')) ? [name] : [],
  );
}

function addressesOf(name: string): string {
  const addresses = networkInterfaces()[name] ?? [];
  return `${name} ${addresses.map(({ address }) => address).join(' ')}`;
}

function isMulticast(name: string): boolean {
  const file = `/sys/class/net/${name}/flags`;
  return existsSync(file) && (Number(readFileSync(file, 'utf8')) & IFF_MULTICAST) !== 0;
}

async function receivesOwnMulticast(name: string): Promise<boolean> {
  const socket = createSocket({ type: 'udp6', reuseAddr: true });
  try {
    socket.bind(0);
    await once(socket, 'listening');
    const scope = `::%${name}`;
    socket.addMembership(PROBE_GROUP, scope);
    socket.setMulticastInterface(scope);
    socket.setMulticastLoopback(true);
    const received = once(socket, 'message', { signal: AbortSignal.timeout(PROBE_MS) });
    socket.send('atmo doctor', socket.address().port, PROBE_GROUP);
    await received;
    return true;
  } catch {
    return false;
  } finally {
    socket.close();
  }
}

async function bindProblem(port: number): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ port, host: '127.0.0.1', exclusive: true });
    await once(server, 'listening');
    return undefined;
  } catch (error) {
    return systemCode(error);
  } finally {
    server.close();
  }
}
