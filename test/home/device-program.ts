import { flushCompileCache } from 'node:module';
import { createInterface } from 'node:readline';
import { Environment, LogFormat, Logger, LogLevel, Millis, StorageService, Time } from '@matter/main';
import { AtmoError } from '../../src/core/errors.ts';
import type { Json } from '../../src/core/json.ts';
import { BatchStorageDriver } from '../../src/matter/storage/matter-database.ts';
import { type Address, DeviceNode } from './device-node.ts';
import type { ProcessSpec, Reply, Request } from './device-protocol.ts';
import type { BridgedSpec } from './home-spec.ts';

// matter.js writes what is left of a download into a file that it has closed. A device survives an update that ended in the middle.
process.on('uncaughtException', (error: NodeJS.ErrnoException) => {
  process.stderr.write(`${error.stack}\n`);
  if (error.code !== 'ERR_STREAM_DESTROYED') process.exit(1);
});

// One process of the virtual home: argument 1 is a ProcessSpec, requests come on stdin, replies go to stdout.
// It ends with its standard input, so nothing outlives the home.

const spec = JSON.parse(process.argv[2] ?? '{}') as ProcessSpec;
const devices = new Map<string, DeviceNode>();

Logger.level = LogLevel(process.env.VIRTUAL_HOME_LOG ?? 'warn');
Logger.format = LogFormat.PLAIN;
const destination = Logger.destinations.default;
if (destination) destination.write = (text: string) => process.stderr.write(`${text}\n`);

const reportDelayMs = spec.devices.find((device) => device.reportDelayMs !== undefined)?.reportDelayMs;
if (reportDelayMs !== undefined) {
  const time = Time.default;
  const getTimer = time.getTimer.bind(time);
  // matter.js has no option for this delay (ServerSubscription).
  time.getTimer = (name, duration, callback) =>
    getTimer(name, /^Subscription .* delay$/.test(name) ? Millis(reportDelayMs) : duration, callback);
}

const { vars } = Environment.default;
vars.set('storage.path', spec.storagePath);
vars.set('mdns.networkInterface', spec.interfaceName);
// matter.js's own loses one of two changes that a command such as AddGroup makes at once.
Environment.default.get(StorageService).registerDriver(BatchStorageDriver);

const operations: Record<Request['op'], (device: DeviceNode, params: never) => Promise<unknown> | unknown> = {
  pairing: (device) => device.pairing,
  get: (device, address: Address) => device.get(address),
  state: (device) => device.state(),
  set: (device, { value, ...address }: Address & { value: Json }) => device.set(address, value),
  emit: (device, { payload, ...address }: Address & { payload: Json }) => device.emit(address, payload),
  commands: (device) => device.commands.records,
  reset: (device) => device.reset(),
  addBridged: (device, bridged: BridgedSpec) => device.addBridged(bridged),
  removeBridged: (device, { id }: { id: string }) => device.removeBridged(id),
  memory: () => process.memoryUsage.rss(),
};

async function answer({ id, device, op, params }: Request): Promise<Reply> {
  try {
    const node = devices.get(device);
    if (!node) throw new AtmoError('DEVICE_NOT_FOUND', `No device ${device} in this process`);
    return { id, result: ((await operations[op](node, params as never)) ?? null) as Json };
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) };
  }
}

const write = (line: object): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);

for (const device of spec.devices) devices.set(device.name, await DeviceNode.create(device));
for (const device of devices.values()) await device.start();
const lines = createInterface({ input: process.stdin });
lines.on('line', async (line) => write(await answer(JSON.parse(line) as Request)));
lines.on('close', () => process.exit(0));
write({ ready: true });
flushCompileCache();
