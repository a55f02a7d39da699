import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import koffi from 'koffi';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sendUnixDatagram, unixAddress } from '../../src/hub/unix-datagram.ts';

// A datagram socket in a private directory: no network, so it may live among the unit tests.
const libc = koffi.load(null);
const socket = libc.func('int socket(int, int, int)');
const bind = libc.func('int bind(int, const void *, uint32_t)');
const receive = libc.func('int64_t recv(int, _Out_ void *, size_t, int)');
const close = libc.func('int close(int)');
const MSG_DONTWAIT = 0x40;

class Receiver implements Disposable {
  readonly #fd: number = socket(1, 2, 0);

  constructor(name: string) {
    const address = unixAddress(name);
    expect(bind(this.#fd, address, address.length)).toBe(0);
  }

  next(): string | undefined {
    const buffer = Buffer.alloc(512);
    const length = Number(receive(this.#fd, buffer, buffer.length, MSG_DONTWAIT));
    return length < 0 ? undefined : buffer.subarray(0, length).toString();
  }

  [Symbol.dispose](): void {
    close(this.#fd);
  }
}

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'atmo-datagram-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('unix datagram', () => {
  test('reaches a receiver at a path', () => {
    const name = join(directory, 'notify');
    using receiver = new Receiver(name);
    sendUnixDatagram(name, Buffer.from('READY=1'));
    expect(receiver.next()).toBe('READY=1');
    expect(receiver.next()).toBeUndefined();
  });

  test('reaches a receiver at an abstract name', () => {
    const name = `@atmo-test-${process.pid}`;
    using receiver = new Receiver(name);
    sendUnixDatagram(name, Buffer.from('WATCHDOG=1'));
    expect(receiver.next()).toBe('WATCHDOG=1');
  });

  test('says so when nobody listens', () => {
    expect(() => sendUnixDatagram(join(directory, 'nobody'), Buffer.from('x'))).toThrow('errno 2');
  });

  test.each(['', 'relative', `/${'x'.repeat(120)}`])('refuses the name %j', (name) => {
    expect(() => unixAddress(name)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
  });
});
