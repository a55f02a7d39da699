/**
 * Counts how many of our sources a reader meets on the way of one call, one reading and one announcement: `npm run files-run [-- --json]`.
 * Hubs run from source in a private network with a virtual lamp and a virtual thermometer; V8 counts the functions that run.
 * Sources that also run while the hub is idle stand in brackets and are not counted. Exit 0 when each flow keeps its bar.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { VirtualHome } from '../test/home/virtual-home.ts';
import { foundMesh, LabMesh, untilComplete } from '../test/live/mesh/lab-mesh.ts';
import { fleetOf } from './bench/fleet-spec.ts';
import { requestJson } from './bench/json-request.ts';
import { MeasuredProgram } from './bench/measured-program.ts';
import { Workspace } from './bench/workspace.ts';
import { type FilesRun, HUB_FROM_SOURCE, ObservedHub, observedEnvironment } from './files-run/observed-hub.ts';
import { againInPrivateNetwork, isInPrivateNetwork } from './network-lab/private-network.ts';

interface Flow {
  readonly name: string;
  readonly files: FilesRun;
  /** At most so many files; null where nothing is demanded. */
  readonly bar: number | null;
}

/** An announcement travels at once; the other hub has it after this time on a slow machine too. */
const TRAVEL_MS = 2_000;
const SAY = {
  id: 'say',
  name: 'Say',
  description: 'Says it.',
  input_schema: { said: 'string' },
  steps: [{ tool: 'echo', params: { value: 1 } }],
};

/** A call of a lamp's tool over HTTP, and a reading of a thermometer to a listener of the event stream. */
async function deviceFlows(): Promise<readonly Flow[]> {
  using workspace = new Workspace();
  const spec = fleetOf(['on-off-light', 'temperature-sensor']);
  await using home = await VirtualHome.start({ spec, dir: join(workspace.dir, 'home') });
  const socketPath = join(workspace.dir, 'coverage');
  const stateDir = join(workspace.dir, 'hub');
  const settings = { ATMO_STATE_DIR: stateDir, ATMO_HTTP_PORT: '0', ATMO_MATTER_INTERFACE: 'eth0', ATMO_LOG: 'warn' };
  await using program = await MeasuredProgram.start({
    command: HUB_FROM_SOURCE,
    env: { ...settings, ...observedEnvironment(socketPath) },
    logFile: join(workspace.dir, 'hub.log'),
  });
  const url = program.url.replace(/\/$/, '');
  const headers = { authorization: `Bearer ${readFileSync(join(stateDir, 'owner.token'), 'utf8').trim()}` };
  const hub = new ObservedHub(socketPath);
  for (const [device, name] of [
    ['Device 1', 'Lamp'],
    ['Device 2', 'Thermometer'],
  ] as const) {
    const code = home.device(device).pairing.manualCode;
    await requestJson(`${url}/api/v1/commission`, { code, name, attestation: 'off' }, headers);
  }
  const call = await hub.filesOf(async (run) => {
    await requestJson(`${url}/api/v1/tools/lamp_turn_${run % 2 === 0 ? 'on' : 'off'}/invoke`, {}, headers);
  });
  const stop = new AbortController();
  const stream = await fetch(`${url}/api/v1/events?types=sensor.reading`, { headers, signal: stop.signal });
  const events = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  const reading = await hub.filesOf(async (run) => {
    await home.device('Device 2').set(1, 'temperatureMeasurement', 'measuredValue', 1900 + 100 * run);
    let heard = '';
    while (events && !heard.includes(`${19 + run}`)) heard = (await events.read()).value ?? '';
  });
  stop.abort();
  return [
    { name: 'call', files: call, bar: 60 },
    { name: 'reading', files: reading, bar: null },
  ];
}

/** What another hub runs when a hub announces that a tool is gone; and when a tool came, whose definition it fetches. */
async function announcementFlows(): Promise<readonly Flow[]> {
  await using mesh = await new LabMesh().start();
  const [here, there] = await mesh.lab.addHosts(2);
  if (!here || !there) return [];
  const socketPath = join(mesh.dir, 'coverage');
  const announcing = await mesh.addHub(here, { program: HUB_FROM_SOURCE });
  const receiving = await mesh.addHub(there, { program: HUB_FROM_SOURCE, env: observedEnvironment(socketPath) });
  await foundMesh([announcing, receiving]);
  await untilComplete([announcing, receiving]);
  const hub = new ObservedHub(socketPath);
  let count = 0;
  const register = async () => {
    await announcing.door.send('/api/v1/tools', { ...SAY, id: `say_${++count}` });
    await sleep(TRAVEL_MS);
  };
  const remove = async () => {
    await announcing.door.send(`/api/v1/tools/say_${count--}`, undefined, { method: 'DELETE' });
    await sleep(TRAVEL_MS);
  };
  const withDefinition = await hub.filesOf(register);
  const alone = await hub.filesOf(remove);
  return [
    { name: 'announcement', files: alone, bar: 30 },
    { name: 'announcement with a definition', files: withDefinition, bar: null },
  ];
}

function isKept({ files, bar }: Flow): boolean {
  return bar === null || files.own.length <= bar;
}

function print(flow: Flow): void {
  const { name, files, bar } = flow;
  const counts = { count: files.own.length, bar, ok: isKept(flow) };
  if (values.json) {
    console.log(JSON.stringify({ name, ...counts, ...files }));
    return;
  }
  console.log(
    `${name}: ${counts.count} files${bar === null ? '' : ` ${counts.ok ? '✓' : '✗'} ≤ ${bar}`}, and ${files.alsoIdle.length} that run while idle too`,
  );
  for (const file of files.own) console.log(`  ${file}`);
  for (const file of files.alsoIdle) console.log(`  (${file})`);
}

async function main(): Promise<number> {
  if (!isInPrivateNetwork()) return againInPrivateNetwork();
  const flows = [...(await deviceFlows()), ...(await announcementFlows())];
  flows.forEach(print);
  return flows.every(isKept) ? 0 : 1;
}

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false } } });
process.exit(await main());
