import crypto, { type KeyObject } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import { seededRandom } from '../seeded-random.ts';
import { installFiles } from './simulated-files.ts';
import { currentProcess } from './simulated-process.ts';
import { installRequests } from './simulated-requests.ts';

/**
 * Replaces the time, timers, random numbers and asynchronous files of Node.js in this process by those of the simulated world. It has to run
 * before the modules of the hub are loaded, which may keep a function of Node.js.
 */
export function installPlatform(): void {
  Error.stackTraceLimit = STACK_LINES;
  installTime();
  installTimers();
  installRandom();
  installFiles();
  installRequests();
  installMachine();
  syncBuiltinESMExports();
}

/** A hub makes errors as answers, thousands in an hour, and a deep stack costs more than the rest of such an answer. */
const STACK_LINES = 4;

/** Random numbers for what runs outside of all processes, such as the loading of modules. */
const outside = seededRandom(1);

function random(): number {
  return (currentProcess()?.random ?? outside)();
}

function installTime(): void {
  const RealDate = Date;
  const realNow = Date.now;
  const now = () => currentProcess()?.clock.now() ?? realNow();
  class SimulatedDate extends RealDate {
    constructor(...given: readonly unknown[]) {
      super(...((given.length > 0 ? given : [now()]) as [number]));
    }
  }
  Object.assign(RealDate, { now });
  globalThis.Date = SimulatedDate as DateConstructor;
  const realMonotonic = performance.now.bind(performance);
  performance.now = () => currentProcess()?.clock.monotonic() ?? realMonotonic();
}

type Callback = (...given: unknown[]) => void;

/** What `setTimeout` returns. */
class SimulatedTimer {
  readonly #start: () => () => void;
  #cancel: () => void;

  constructor(start: () => () => void) {
    this.#start = start;
    this.#cancel = start();
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  refresh(): this {
    this.close();
    this.#cancel = this.#start();
    return this;
  }

  close(): this {
    this.#cancel();
    return this;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

function installTimers(): void {
  const real = { setTimeout, setInterval, setImmediate, clearTimeout };
  const timeout = (callback: Callback, delayMs = 0, ...given: unknown[]) => {
    const owner = currentProcess();
    if (!owner) return real.setTimeout(callback, delayMs, ...given);
    return new SimulatedTimer(() => owner.after(Math.max(1, delayMs), () => callback(...given)));
  };
  const interval = (callback: Callback, delayMs = 0, ...given: unknown[]) => {
    const owner = currentProcess();
    if (!owner) return real.setInterval(callback, delayMs, ...given);
    const again = () => {
      timer.refresh();
      callback(...given);
    };
    const timer: SimulatedTimer = new SimulatedTimer(() => owner.after(Math.max(1, delayMs), again));
    return timer;
  };
  const immediate = (callback: Callback, ...given: unknown[]) => {
    const owner = currentProcess();
    if (!owner) return real.setImmediate(callback, ...given);
    return new SimulatedTimer(() => owner.after(0, () => callback(...given), 'immediate'));
  };
  const clear = (timer: unknown) => (timer instanceof SimulatedTimer ? void timer.close() : real.clearTimeout(timer as NodeJS.Timeout));
  const replaced = { setTimeout: timeout, setInterval: interval, setImmediate: immediate };
  const cleared = { clearTimeout: clear, clearInterval: clear, clearImmediate: clear };
  Object.assign(globalThis, replaced, cleared);
  Object.assign(timers, replaced, cleared);
  Object.assign(timersPromises, {
    setTimeout: (delayMs?: number, value?: unknown) => new Promise((resolve) => timeout(() => resolve(value), delayMs)),
    setImmediate: (value?: unknown) => new Promise((resolve) => immediate(() => resolve(value))),
  });
  AbortSignal.timeout = (delayMs) => {
    const abort = new AbortController();
    timeout(() => abort.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')), delayMs);
    return abort.signal;
  };
}

function randomBytes(length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  const draw = currentProcess()?.random ?? outside;
  for (let index = 0; index < length; index++) bytes[index] = Math.floor(draw() * 256);
  return bytes;
}

function randomUuid(): string {
  const hex = randomBytes(16).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}

function fill<Target extends NodeJS.ArrayBufferView>(target: Target): Target {
  randomBytes(target.byteLength).copy(new Uint8Array(target.buffer, target.byteOffset, target.byteLength));
  return target;
}

/** Head of an Ed25519 private key in PKCS #8 (RFC 8410 §7), before its 32 bytes. */
const ED25519_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

function ed25519Pair(): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  const key = Buffer.concat([ED25519_HEAD, randomBytes(32)]);
  const privateKey = crypto.createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  return { privateKey, publicKey: crypto.createPublicKey(privateKey) };
}

function installRandom(): void {
  Math.random = random;
  const realPair = crypto.generateKeyPairSync;
  const pair = (type: string, ...given: unknown[]) =>
    type === 'ed25519' ? ed25519Pair() : Reflect.apply(realPair, crypto, [type, ...given]);
  const between = (from: number, to?: number) =>
    to === undefined ? Math.floor(random() * from) : from + Math.floor(random() * (to - from));
  const replaced = { randomBytes, randomUUID: randomUuid, randomFillSync: fill, randomInt: between, generateKeyPairSync: pair };
  const scrypt = (password: string, salt: Uint8Array, length: number, ...rest: unknown[]) => {
    const [options, done] = rest.length > 1 ? [rest[0], rest[1]] : [undefined, rest[0]];
    // A tenth of a second for each passphrase would prove nothing here.
    const key = crypto.scryptSync(password, salt, length, { ...(options as object), N: 2 });
    timers.setTimeout(() => (done as (error: null, key: Buffer) => void)(null, key), 300);
  };
  Object.assign(crypto, replaced, { scrypt });
  globalThis.crypto.getRandomValues = (target) => (target ? fill(target as Uint8Array) : target) as typeof target;
  globalThis.crypto.randomUUID = randomUuid as typeof globalThis.crypto.randomUUID;
}

const LOOPBACK = {
  address: '127.0.0.1',
  netmask: '255.0.0.0',
  family: 'IPv4',
  mac: '00:00:00:00:00:00',
  internal: true,
  cidr: '127.0.0.1/8',
};

/** What differs between the machines on which a world may be simulated. */
function installMachine(): void {
  Object.assign(os, { networkInterfaces: () => ({ lo: [LOOPBACK] }), hostname: () => 'machine', availableParallelism: () => 4 });
  process.availableMemory = () => 4_000_000_000;
}
