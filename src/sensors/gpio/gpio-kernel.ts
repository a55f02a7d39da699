import { closeSync, constants, openSync, readSync } from 'node:fs';
import koffi from 'koffi';
import { systemCode } from '../../core/errors.ts';
import { LINE_EVENT_BYTES } from './gpio-uapi.ts';

/** Port: the few calls of the kernel that the character device needs. */
export interface GpioKernel {
  /** Descriptor of a device file; undefined where there is none or we may not. */
  open(path: string): number | undefined;
  /** Fills `bytes`; the errno, 0 when it went well. */
  ioctl(fd: number, request: number, bytes: Buffer): number;
  /** Whole changes that wait, empty when there are none; undefined when the chip is gone. Never waits. */
  readWaiting(fd: number): Buffer | undefined;
  /** Calls back whenever something waits, on the event loop of Node; the answer stops it. Does not keep the process alive. */
  whenReadable(fd: number, callback: () => void): () => void;
  close(fd: number): void;
  /** CLOCK_MONOTONIC, which the time stamps of the kernel are of. */
  monotonicNs(): bigint;
}

/** The kernel keeps 16 changes of a line by default; more than this in one turn of the loop is left for the next. */
const MOST_EVENTS_AT_ONCE = 64;

/** The machine's own kernel. Loading this file loads koffi. */
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
      return isNothingThere(error) ? bytes.subarray(0, 0) : undefined;
    }
  },
  whenReadable(fd, callback) {
    // libuv's own poll, which also makes the descriptor non-blocking: a line costs no thread, neither of ours nor of libuv's pool.
    const handle = koffi.node.poll(fd, { readable: true }, callback);
    handle.unref();
    return () => handle.close();
  },
  close: closeSync,
  monotonicNs: () => process.hrtime.bigint(),
};

const callIoctl = koffi.load(null).func('int ioctl(int fd, unsigned long request, ...)');

function isNothingThere(error: unknown): boolean {
  return systemCode(error) === 'EAGAIN';
}
