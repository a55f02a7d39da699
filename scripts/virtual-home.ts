import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { AtmoError } from '../src/core/errors.ts';
import type { Json } from '../src/core/json.ts';
import { fleet } from '../test/home/fleet.ts';
import { CONTROL_METHODS, type ControlRequest, control, inventory, serveControl } from '../test/home/home-control.ts';
import { type HomeSpec, homeOf, standardHome } from '../test/home/home-spec.ts';
import { VirtualHome } from '../test/home/virtual-home.ts';

const USAGE = `usage, serve only inside scripts/in-netns:
  node scripts/virtual-home.ts serve --socket PATH [--dir DIR] [--spec FILE | --fleet N] [--only NAME]…
      prints one JSON line with every device and its codes, then runs until it is ended
  node scripts/virtual-home.ts --socket PATH COMMAND DEVICE [ARG…]
      get ENDPOINT CLUSTER ATTRIBUTE          set ENDPOINT CLUSTER ATTRIBUTE VALUE (JSON)
      emit ENDPOINT CLUSTER EVENT PAYLOAD     commands
      power-off   power-on [PORT]   restart [PORT]   link-down   link-up   reset
      add-bridged JSON   remove-bridged ID
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    socket: { type: 'string' },
    dir: { type: 'string' },
    spec: { type: 'string' },
    fleet: { type: 'string' },
    only: { type: 'string', multiple: true },
  },
});

function spec(): HomeSpec {
  const home = values.spec ? (JSON.parse(readFileSync(values.spec, 'utf8')) as HomeSpec) : standardHome();
  if (values.fleet) return fleet(Number(values.fleet));
  return values.only ? homeOf(home, values.only) : home;
}

async function serve(socketPath: string): Promise<void> {
  const temporary = values.dir === undefined ? mkdtempSync(join(tmpdir(), 'virtual-home-')) : undefined;
  const home = await VirtualHome.start({ spec: spec(), dir: values.dir ?? temporary ?? '' });
  const server = await serveControl(home, socketPath);
  let isEnding = false;
  // A terminal and its process group may deliver the same signal several times.
  const end = async (): Promise<void> => {
    if (isEnding) return;
    isEnding = true;
    server.close();
    await home[Symbol.asyncDispose]();
    if (temporary) rmSync(temporary, { recursive: true, force: true });
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, end);
  process.stdout.write(`${JSON.stringify({ devices: inventory(home) })}\n`);
}

/** Numbers, true, objects and quoted text as JSON, anything else as the text it is. */
function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

async function main(): Promise<void> {
  const [command, device, ...args] = positionals;
  const method = CONTROL_METHODS.find((name) => name === command);
  if (!values.socket || !(command === 'serve' || (method && device))) throw new AtmoError('VALIDATION_ERROR', USAGE);
  if (!method) return serve(values.socket);
  const request: ControlRequest = { method, device: device ?? '', args: args.map(parse) };
  process.stdout.write(`${JSON.stringify(await control(values.socket, request))}\n`);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(error instanceof AtmoError && error.code === 'VALIDATION_ERROR' ? 2 : 1);
}
