import koffi from 'koffi';
import { AtmoError } from '../core/errors.ts';

// Constants of Linux's <sys/socket.h>. They are needed because Node.js has no Unix datagram sockets.
const AF_UNIX = 1;
const SOCK_DGRAM_CLOEXEC = 2 | 0o2000000;
const MSG_DONTWAIT_NOSIGNAL = 0x40 | 0x4000;
/** Maximum length of a socket's path: `sizeof sun_path` in unix(7). */
const MAX_PATH_BYTES = 108;

const libc = koffi.load(null);
const socket = libc.func('int socket(int domain, int type, int protocol)');
const sendto = libc.func(
  'int64_t sendto(int fd, const void *bytes, size_t length, int flags, const void *address, uint32_t addressLength)',
);
const close = libc.func('int close(int fd)');

/**
 * Returns the bytes of a `struct sockaddr_un` (unix(7)). `name` is an absolute path, or an abstract name that begins with `@`. Throws
 * VALIDATION_ERROR if it is empty, relative or too long.
 */
export function unixAddress(name: string): Buffer {
  const isAbstract = name.startsWith('@');
  if (!isAbstract && !name.startsWith('/')) {
    throw new AtmoError('VALIDATION_ERROR', `Socket ${JSON.stringify(name)} is neither an absolute path nor @abstract`);
  }
  const path = Buffer.from(isAbstract ? `\0${name.slice(1)}` : `${name}\0`);
  if (path.length > MAX_PATH_BYTES) {
    throw new AtmoError(
      'VALIDATION_ERROR',
      `Socket ${JSON.stringify(name)} is longer than the ${MAX_PATH_BYTES - 1} bytes that Linux allows`,
    );
  }
  const family = Buffer.alloc(2);
  // The field sa_family_t has the machine's byte order. All boards that the hub supports are little-endian.
  family.writeUInt16LE(AF_UNIX);
  return Buffer.concat([family, path]);
}

/** Sends one datagram without waiting. Throws NOT_FOUND with the errno if the system refuses it. */
export function sendUnixDatagram(name: string, payload: Buffer): void {
  const address = unixAddress(name);
  const fd: number = socket(AF_UNIX, SOCK_DGRAM_CLOEXEC, 0);
  if (fd < 0) throw refused('socket', name);
  try {
    const sent = Number(sendto(fd, payload, payload.length, MSG_DONTWAIT_NOSIGNAL, address, address.length));
    if (sent !== payload.length) throw refused('sendto', name);
  } finally {
    close(fd);
  }
}

function refused(call: string, name: string): AtmoError {
  return new AtmoError('NOT_FOUND', `${call} to ${name} failed with errno ${koffi.errno()}; is its receiver running?`);
}
