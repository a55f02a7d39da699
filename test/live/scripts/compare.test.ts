import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compare } from '../../../scripts/bench/compare/compare.ts';
import { MatterServerClient } from '../../../scripts/bench/compare/matter-server.ts';
import { builtProgram } from '../built-program.ts';
import { endProcess } from '../hub-child.ts';

const STAND_IN = join(import.meta.dirname, '../children/matter-server-stand-in.ts');
const COMMAND_MS = 40;

let dir: string;
let program: string;

beforeAll(async () => {
  program = await builtProgram('src/main.ts');
  dir = mkdtempSync(join(tmpdir(), 'compare-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('a client of a Matter server', () => {
  const url = 'ws://127.0.0.1:5581/ws';
  let server: ChildProcess;
  let client: MatterServerClient;

  beforeAll(async () => {
    server = spawn(process.execPath, [STAND_IN, '5581', dir, '0', join(dir, 'commands.log')], { stdio: 'inherit' });
    client = await MatterServerClient.connect(url, 60_000);
  });
  afterAll(() => endProcess(server, 'SIGTERM'));

  test('commissions, switches and reads a light, and passes on what the server refuses', async () => {
    const node = await client.commission('35325335079');
    await expect(client.switchLight(node, true)).rejects.toThrow('not available yet');
    await client.switchLight(node, true);
    expect(await client.readLight(node)).toBe(true);
    await client.switchLight(node, false);
    expect(await client.readLight(node)).toBe(false);
    await expect(client.readLight(node + 1)).rejects.toThrow(`no node ${node + 1}`);
    await expect(client.commission('nothing')).rejects.toThrow('no device with nothing');
  });

  test('does not wait for an answer of a server that has ended, nor for one that is not there', async () => {
    const lost = expect(client.commission('35325335079')).rejects.toThrow('closed the connection');
    await endProcess(server, 'SIGKILL');
    await lost;
    await expect(MatterServerClient.connect(url, 50)).rejects.toThrow('No Matter server greets');
  });
});

test('the hub and a server that it starts are measured by the same commands', async () => {
  const log = join(dir, 'all-commands.log');
  const command = `${process.execPath} ${STAND_IN} 5582 {dir} ${COMMAND_MS} ${log}`;
  const counts = { lights: 1, turns: 2, commandsATurn: 4, pacedCommands: 3, idleMs: 0, starts: 1 };
  const figures = await compare({ program, url: 'ws://127.0.0.1:5582/ws', command, pid: undefined, ...counts });
  const byName = new Map(figures.map((figure) => [figure.name, figure]));
  expect([...byName.keys()]).toEqual([
    'command back to back, p50',
    'processor for a command',
    'command, two a second, p50',
    'resident memory, idle',
    'start to the first command',
  ]);
  for (const name of ['command back to back, p50', 'command, two a second, p50']) {
    expect(byName.get(name)?.server).toBeGreaterThanOrEqual(COMMAND_MS - 1);
    expect(byName.get(name)?.serverWithRead).toBeGreaterThanOrEqual(2 * COMMAND_MS - 2);
  }
  for (const { hub, server } of figures) expect(Math.min(hub, server ?? 0)).toBeGreaterThan(0);
  const lines = readFileSync(log, 'utf8').trim().split('\n');
  const reads = 1 + 3 * counts.commandsATurn + counts.pacedCommands;
  expect(lines.filter((line) => line === 'read')).toHaveLength(reads);
  // The same number of commands without a read, and the first one after the start.
  expect(lines.filter((line) => line !== 'read')).toHaveLength(2 * reads + 1);
}, 240_000);
