import { closeSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import koffi from 'koffi';
import { AtmoError } from '../../src/core/errors.ts';

// Values of Linux's <sched.h> and <sys/socket.h>.
const CLONE_NEWNET = 0x40000000;
const AF_INET = 2;
const SOCK_STREAM_CLOEXEC = 1 | 0o2000000;
const SOCKADDR_IN_BYTES = 16;

const libc = koffi.load(null);
const setns = libc.func('int setns(int fd, int type)');
const socket = libc.func('int socket(int domain, int type, int protocol)');
const connect = libc.func('int connect(int fd, const void *address, uint32_t addressLength)');
const close = libc.func('int close(int fd)');

/**
 * A TCP connection to an IPv4 address as a host of the lab makes it, also to the host's own 127.0.0.1: a socket stays in the
 * namespace in which it was made (network_namespaces(7)). Waits for the handshake. HUB_UNREACHABLE with the errno when nobody
 * answers.
 */
export function socketOnHost(namespace: string, port: number, address = '127.0.0.1'): Socket {
  const there = openSync(`/run/netns/${namespace}`, 'r');
  const home = openSync('/proc/thread-self/ns/net', 'r');
  try {
    if (setns(there, CLONE_NEWNET) !== 0) throw refused('setns', namespace);
    const fd: number = socket(AF_INET, SOCK_STREAM_CLOEXEC, 0);
    if (fd < 0) throw refused('socket', namespace);
    if (connect(fd, ipv4Address(address, port), SOCKADDR_IN_BYTES) !== 0) {
      const error = refused(`connect to ${address}:${port}`, namespace);
      close(fd);
      throw error;
    }
    return new Socket({ fd, readable: true, writable: true });
  } finally {
    setns(home, CLONE_NEWNET);
    closeSync(home);
    closeSync(there);
  }
}

/** A `struct sockaddr_in` (ip(7)). */
function ipv4Address(address: string, port: number): Buffer {
  const bytes = Buffer.alloc(SOCKADDR_IN_BYTES);
  bytes.writeUInt16LE(AF_INET, 0);
  bytes.writeUInt16BE(port, 2);
  for (const [index, part] of address.split('.').entries()) bytes.writeUInt8(Number(part), 4 + index);
  return bytes;
}

function refused(call: string, namespace: string): AtmoError {
  return new AtmoError('HUB_UNREACHABLE', `${call} on host ${namespace} failed with errno ${koffi.errno()}`);
}
