import { rmSync } from 'node:fs';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { AtmoError } from '../../src/core/errors.ts';
import type { Json } from '../../src/core/json.ts';
import { fromJson, toJson } from './raw-value.ts';
import type { VirtualDevice } from './virtual-device.ts';
import type { VirtualHome } from './virtual-home.ts';

/** What a client may ask of a running home; `args` as in VirtualDevice, with bytes and 64-bit integers in the form of toJson. */
export interface ControlRequest {
  readonly method: keyof typeof METHODS;
  readonly device: string;
  readonly args: readonly Json[];
}

type Reply = { readonly result: Json } | { readonly error: string };
/** Up to four values from another process: what does not fit, the device refuses by name. */
type Arguments = readonly [never, never, never, never];
type Method = (device: VirtualDevice, args: Arguments) => Promise<unknown>;

const METHODS = {
  get: (device, [endpoint, cluster, attribute]) => device.get(endpoint, cluster, attribute),
  set: (device, [endpoint, cluster, attribute, value]) => device.set(endpoint, cluster, attribute, fromJson(value)),
  emit: (device, [endpoint, cluster, event, payload]) => device.emit(endpoint, cluster, event, fromJson(payload)),
  commands: (device) => device.commands(),
  'power-off': (device) => device.powerOff(),
  'power-on': (device, [port]) => device.powerOn(port === undefined ? {} : { port: Number(port) }),
  restart: (device, [port]) => device.restart(port === undefined ? {} : { port: Number(port) }),
  'link-down': (device) => device.linkDown(),
  'link-up': (device) => device.linkUp(),
  reset: (device) => device.reset(),
  'add-bridged': (device, [bridged]) => device.addBridged(bridged),
  'remove-bridged': (device, [id]) => device.removeBridged(id),
} as const satisfies Record<string, Method>;

/** Names of the methods that `control` takes. */
export const CONTROL_METHODS = Object.keys(METHODS) as readonly (keyof typeof METHODS)[];

/** A home as the demo shows it: names, areas, types and codes. */
export function inventory(home: VirtualHome): Json {
  return home.devices.map(({ spec: { name, type, area }, pairing, address }) => ({ name, type, area, address, pairing: { ...pairing } }));
}

/** Lets other processes of this machine steer the home over a unix socket of mode 0600: one JSON line in, one out. */
export async function serveControl(home: VirtualHome, socketPath: string): Promise<Server> {
  rmSync(socketPath, { force: true });
  const server = createServer((socket) => attend(home, socket));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  const mask = process.umask(0o177);
  server.listen(socketPath, resolve);
  process.umask(mask);
  await promise;
  return server;
}

/** Asks the home that serves `socketPath`. */
export async function control(socketPath: string, request: ControlRequest): Promise<Json> {
  const socket = createConnection(socketPath);
  const { promise, resolve, reject } = Promise.withResolvers<Json>();
  socket.on('error', () => reject(new AtmoError('NODE_UNAVAILABLE', `No virtual home answers at ${socketPath}; start one with: serve`)));
  // The interface repeats the socket's errors.
  const lines = createInterface({ input: socket }).on('error', () => undefined);
  lines.on('line', (line) => {
    const reply = JSON.parse(line) as Reply;
    if ('error' in reply) reject(new AtmoError('CONFLICT', reply.error));
    else resolve(reply.result);
  });
  socket.write(`${JSON.stringify(request)}\n`);
  return promise.finally(() => socket.destroy());
}

function attend(home: VirtualHome, socket: Socket): void {
  socket.on('error', () => socket.destroy());
  const lines = createInterface({ input: socket }).on('error', () => undefined);
  lines.on('line', async (line) => {
    const reply = await answer(home, JSON.parse(line) as ControlRequest);
    if (socket.writable) socket.write(`${JSON.stringify(reply)}\n`);
  });
}

async function answer(home: VirtualHome, { method, device, args }: ControlRequest): Promise<Reply> {
  try {
    const call: Method = METHODS[method];
    return { result: toJson(await call(home.device(device), args as unknown as Arguments)) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
