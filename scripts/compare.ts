/**
 * Measures the hub beside a Matter server of the reader, which speaks the WebSocket commands of matterjs-server:
 *
 *   npm run compare -- --url ws://127.0.0.1:5580/ws --start 'node … --storage-path {dir} --port 5580'
 *   npm run compare -- --url ws://127.0.0.1:5580/ws [--pid PID]     inside `scripts/in-netns -- bash`, beside a server that runs there
 *
 * With --start the server gets a folder for its state as `{dir}`, and is started again and again. --lights N: so many for each (11).
 * --json: a line of JSON for each figure. docs/performance.md says what the figures mean.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { AtmoError } from '../src/core/errors.ts';
import { type ComparedFigure, compare } from './bench/compare/compare.ts';
import { ROOT } from './bundle.ts';
import { againInPrivateNetwork, isInPrivateNetwork } from './network-lab/private-network.ts';

const USAGE = "usage: npm run compare -- --url ws://HOST:PORT/ws (--start 'COMMAND … {dir}' | [--pid PID]) [--lights N] [--json]";
const USUAL = { turns: 6, commandsATurn: 40, pacedCommands: 60, idleMs: 60_000, starts: 3 };

function lineOf({ name, unit, hub, server, serverWithRead }: ComparedFigure): string {
  const shown = (value: number | undefined) => (value === undefined ? '–' : `${value.toPrecision(3)} ${unit}`).padStart(18);
  const ratio = (value: number | undefined) => (value === undefined ? '' : (hub / value).toFixed(2)).padStart(9);
  return [name.padEnd(28), shown(hub), shown(server), ratio(server), shown(serverWithRead), ratio(serverWithRead)].join('').trimEnd();
}

/** The bundle of the tree, built when a source is newer. */
function builtProgram(): string {
  const { status } = spawnSync(process.execPath, ['scripts/build.ts', '--if-stale'], { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) throw new AtmoError('INTERNAL_ERROR', 'The hub cannot be built');
  return join(ROOT, 'dist/atmo.mjs');
}

async function main(): Promise<number> {
  const { url, start: command, pid } = values;
  if (url === undefined || (command !== undefined && pid !== undefined)) {
    console.error(USAGE);
    return 2;
  }
  if (!isInPrivateNetwork()) {
    if (command === undefined) {
      console.error('The virtual lights are in a private network: run the server and this inside scripts/in-netns -- bash, or use --start');
      return 2;
    }
    return againInPrivateNetwork();
  }
  const server = { url, command, pid: pid === undefined ? undefined : Number(pid) };
  const figures = await compare({ ...USUAL, ...server, program: builtProgram(), lights: Number(values.lights) });
  if (values.json) for (const figure of figures) console.log(JSON.stringify(figure));
  else {
    const heads = ['hub', 'server'].map((head) => head.padStart(18)).join('');
    console.log(`${''.padEnd(28)}${heads}${'ratio'.padStart(9)}${'server, read'.padStart(18)}${'ratio'.padStart(9)}`);
    for (const figure of figures) console.log(lineOf(figure));
  }
  return 0;
}

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    start: { type: 'string' },
    pid: { type: 'string' },
    lights: { type: 'string', default: '11' },
    json: { type: 'boolean', default: false },
  },
});
process.exit(await main());
