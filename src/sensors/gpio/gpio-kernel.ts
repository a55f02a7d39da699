import { closeSync, constants, openSync, readSync } from 'node:fs';
import koffi from 'koffi';
import { systemCode } from '../../core/errors.ts';
import { LINE_EVENT_BYTES } from './gpio-uapi.ts';

/** Port: the kernel's system calls for the character device. */
export interface GpioKernel {
  /** Opens a device file and returns its descriptor; undefined if it is missing or cannot be opened. */
  open(path: string): number | undefined;
  /** Calls ioctl(2), which reads and fills `bytes`. Returns 0 for success, otherwise the errno. */
  ioctl(fd: number, request: number, bytes: Buffer): number;
  /** Returns the changes that wait to be read, possibly none. Returns undefined if the chip is gone. Never blocks. */
  readWaiting(fd: number): Buffer | undefined;
  /** Calls `callback` whenever changes wait to be read. Does not keep the process alive. The returned function stops the calls. */
  whenReadable(fd: number, callback: () => void): () => void;
  close(fd: number): void;
  /** Returns CLOCK_MONOTONIC, the clock of the kernel's time stamps. */
  monotonicNs(): bigint;
}

/** Maximum number of changes per read. The next turn of the event loop reads more. By default, the kernel stores 16 changes per line. */
const MOST_EVENTS_AT_ONCE = 64;

/** The kernel of this machine. Importing this file loads the native package koffi. */
export const linuxGpioKernel: GpioKernel = {
  open(path) {
    try {
      return openSync(path, constants.O_RDWR);
    } catch {
      return undefined;
    }
  },
  ioctl(fd, request, bytes) {
    return callIoctl(fd, request, 'void *', bytes) < 0 ? koffi.errno() : 0;
  },
  readWaiting(fd) {
    const bytes = Buffer.alloc(MOST_EVENTS_AT_ONCE * LINE_EVENT_BYTES);
    try {
      return bytes.subarray(0, readSync(fd, bytes));
    } catch (error) {
      return systemCode(error) === 'EAGAIN' ? bytes.subarray(0, 0) : undefined;
    }
  },
  whenReadable(fd, callback) {
    // libuv polls the descriptor and makes it non-blocking. So no line needs a thread of its own.
    const handle = koffi.node.poll(fd, { readable: true }, callback);
    handle.unref();
    return () => handle.close();
  },
  close: closeSync,
  monotonicNs: () => process.hrtime.bigint(),
};

const callIoctl = koffi.load(null).func('int ioctl(int fd, unsigned long request, ...)');
