import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { systemCode } from '../../core/errors.ts';
import type { CheckResult, HubPorts } from './check-result.ts';
import { networkTimeCheck } from './machine-checks.ts';

const IFF_MULTICAST = 0x1000;
/** mDNS in the scope of one interface of one machine (RFC 4291 §2.7): what is sent there leaves no machine. */
const PROBE_GROUP = 'ff01::fb';
const PROBE_MS = 1_000;
const MDNS_PORT = 5353;

/** Whether devices and other hubs can be reached from this machine. Nothing that is sent leaves it. */
export async function networkChecks({ http, mesh, isHubThere, isInMesh }: HubPorts): Promise<readonly CheckResult[]> {
  return Promise.all([
    interfaceCheck(),
    multicastCheck(),
    mdnsPortCheck(),
    ...(http === undefined ? [] : [portCheck('HTTP', http, isHubThere)]),
    isInMesh === false ? unusedPort(mesh) : portCheck('mesh', mesh, isHubThere),
    networkTimeCheck(),
  ]);
}

/** The interfaces over which devices can be reached: those with an IPv6 link-local address. */
function interfaceCheck(): CheckResult {
  const found = linkLocalInterfaces();
  if (found.length > 0) return { check: 'interfaces', state: 'ok', found: found.map(addressesOf).join('; ') };
  const advice = 'Matter needs IPv6: sudo sysctl net.ipv6.conf.all.disable_ipv6=0';
  return { check: 'interfaces', state: 'failed', found: 'none has an IPv6 link-local address', advice };
}

/** Whether multicast works: a datagram to a group on each interface that has to come back to this machine, and never leaves it. */
async function multicastCheck(): Promise<CheckResult> {
  const check = 'multicast';
  const able = linkLocalInterfaces().filter(isMulticast);
  if (able.length === 0)
    return { check, state: 'failed', found: 'no interface', advice: 'devices are found by multicast: sudo ip link set DEV multicast on' };
  const heard = await Promise.all(able.map(receivesOwnMulticast));
  const deaf = able.filter((_name, index) => !heard[index]);
  if (deaf.length === 0) return { check, state: 'ok', found: `heard on ${able.join(', ')}` };
  const advice = 'a firewall keeps it away: let UDP 5353 and ICMPv6 in, and see that the hub may use all interfaces';
  return { check, state: 'warning', found: `not heard on ${deaf.join(', ')}`, advice };
}

/** Whether mDNS can be shared: other programs that look for devices have to leave its port open to us. */
async function mdnsPortCheck(): Promise<CheckResult> {
  const check = `UDP port ${MDNS_PORT}`;
  const socket = createSocket({ type: 'udp6', reuseAddr: true });
  try {
    socket.bind(MDNS_PORT);
    await once(socket, 'listening');
    return { check, state: 'ok', found: 'can be shared' };
  } catch (error) {
    const advice = `another program holds it alone: sudo ss -ulpn 'sport = :${MDNS_PORT}' tells which`;
    return { check, state: 'failed', found: `cannot be shared (${systemCode(error)})`, advice };
  } finally {
    socket.close();
  }
}

function unusedPort(mesh: number): CheckResult {
  return { check: `mesh port ${mesh}`, state: 'ok', found: 'not used: this hub is in no mesh' };
}

/** A TCP port of the hub, which has it when it runs and finds it free when it does not. */
export async function portCheck(name: string, port: number, isHubThere: boolean): Promise<CheckResult> {
  const check = `${name} port ${port}`;
  const problem = await bindProblem(port);
  if (problem === undefined) return { check, state: 'ok', found: isHubThere ? 'free here: the hub listens elsewhere' : 'free' };
  if (problem !== 'EADDRINUSE') return { check, state: 'warning', found: problem, advice: 'ports below 1024 are for root: choose another' };
  if (isHubThere) return { check, state: 'ok', found: 'in use while the hub runs' };
  const advice = `sudo ss -tlpn 'sport = :${port}' tells by whom; end it, or give the hub another port in config.yaml`;
  return { check, state: 'failed', found: 'in use, and no hub answers there', advice };
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
    const heard = once(socket, 'message', { signal: AbortSignal.timeout(PROBE_MS) });
    socket.send('atmo doctor', socket.address().port, PROBE_GROUP);
    await heard;
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
