import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { quantile } from '../../scripts/bench/statistics.ts';
import { socketOnHost } from '../../scripts/network-lab/host-socket.ts';
import type { LabHost } from '../../scripts/network-lab/lab-host.ts';
import { figure, IS_LONG } from './mesh/figures.ts';
import { LabMesh, untilComplete } from './mesh/lab-mesh.ts';
import { MESH_PORT, type MeshHub } from './mesh/mesh-hub.ts';
import { mutated, randomOf } from './mesh/mutation.ts';
import { rssMegabytes } from './mesh/process-figures.ts';

const FRAMES = IS_LONG ? 1_000_000 : 20_000;
const STRANGER_CONNECTIONS = IS_LONG ? 2_000 : 60;
const FRAMES_A_CONNECTION = 40;
const CALLS = 60;
const RSS_LIMIT_MB = 20;
const SLOWDOWN_LIMIT = 2;
const FLOOD_LIMIT_MS = 2_000;
/** Below this a ratio says more about the machine than about the hub. */
const FLOOR_MS = 10;
const SEED = 20_260_601;
const PROGRAM = join(import.meta.dirname, 'children/hostile-member.ts');
const ATTACK_LIMIT_MS = IS_LONG ? 3_600_000 : 240_000;
/** What strangers say: TLS, HTTP, the first words of libp2p, prefixes of lengths that nobody has. */
const GREETINGS = [
  '160301020001000000',
  '474554202f20485454502f312e310d0a0d0a',
  '132f6d756c746973747265616d2f312e302e300a',
  'ffffffff',
  '0020',
  '00',
];

/** A hostile member at work. */
class Attack {
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  readonly #errors: string[] = [];

  constructor(host: LabHost, args: readonly string[]) {
    const [command, ...rest] = host.command([process.execPath, '--disable-warning=ExperimentalWarning', PROGRAM, ...args]);
    this.#child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
    if (this.#child.stdout) createInterface({ input: this.#child.stdout }).on('line', (line) => this.#lines.push(line));
    if (this.#child.stderr) createInterface({ input: this.#child.stderr }).on('line', (line) => this.#errors.push(line));
  }

  get isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  get hasBegun(): boolean {
    return this.#lines.includes('READY');
  }

  /** What it sent. */
  async report(): Promise<Readonly<Record<string, number>>> {
    if (!this.isOver) await once(this.#child, 'exit');
    const last = this.#lines.at(-1) ?? '';
    if (!last.startsWith('{')) throw new Error(`the attack did not get to its end: ${this.#errors.join('\n')}`);
    return JSON.parse(last);
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }
}

describe('hubs under attack', () => {
  let mesh: LabMesh;
  let victim: MeshHub;
  let friend: MeshHub;
  let traitor: MeshHub;

  beforeAll(async () => {
    mesh = await new LabMesh().start();
    [victim, friend, traitor] = (await mesh.addMesh(3)) as [MeshHub, MeshHub, MeshHub];
    await traitor.stop();
  });
  afterAll(() => mesh?.[Symbol.asyncDispose]());

  /** 95th percentile of honest calls, milliseconds. */
  async function p95(): Promise<number> {
    const times: number[] = [];
    for (let count = 0; count < CALLS; count++) {
      const startMs = performance.now();
      await friend.result(`lab:count_${victim.name}`, { ticket: `honest ${count}` });
      times.push(performance.now() - startMs);
    }
    return quantile(times, 0.95);
  }

  test('strangers get nowhere, whatever they say', async () => {
    await p95();
    const [pid, rss, calmMs] = [victim.pid, rssMegabytes(victim.pid), await p95()];
    const stranger = await mesh.lab.addHost('stranger');
    const random = randomOf(SEED);
    const words = GREETINGS.map((hex) => Buffer.from(hex, 'hex'));
    const attack = (async () => {
      for (let count = 0; count < STRANGER_CONNECTIONS; count++) {
        const socket = socketOnHost(stranger.name, MESH_PORT, victim.host.address()).on('error', () => undefined);
        for (let frame = 0; frame < FRAMES_A_CONNECTION && !socket.destroyed; frame++) socket.write(mutated(words, random));
        await sleep(30);
        socket.destroy();
      }
    })();
    const attackedMs = await p95();
    await attack;
    figure('stranger.p95_ratio', attackedMs / calmMs, '×');
    figure('stranger.rss_growth', rssMegabytes(victim.pid) - rss, 'MB');
    expect(victim.pid).toBe(pid);
    expect(attackedMs).toBeLessThanOrEqual(Math.max(FLOOR_MS, SLOWDOWN_LIMIT * calmMs));
    expect(rssMegabytes(victim.pid) - rss).toBeLessThanOrEqual(RSS_LIMIT_MB);
    expect((await victim.peers()).map((peer) => peer.id).toSorted()).toEqual([friend.id, traitor.id].toSorted());
  });

  test(
    `${FRAMES} hostile frames of a member crash nothing, slow nobody down and are not believed`,
    async () => {
      await untilComplete([victim, friend]);
      const [pid, calmMs] = [victim.pid, await p95()];
      const attack = new Attack(traitor.host, [traitor.stateDir, victim.meshAddress, String(FRAMES), String(SEED)]);
      try {
        while (!attack.hasBegun && !attack.isOver) await sleep(50);
        // What is compiled and cached for the first of them is no growth.
        await sleep(3_000);
        const rss = rssMegabytes(victim.pid);
        const attackedMs = await p95();
        const report = await attack.report();
        for (const [name, value] of Object.entries(report)) figure(`hostile.${name}`, value, '');
        figure('hostile.p95_ratio', attackedMs / calmMs, '×');
        figure('hostile.rss_growth', rssMegabytes(victim.pid) - rss, 'MB');
        expect(report.frames).toBe(FRAMES);
        expect(report.flood_cut_ms).toBeLessThanOrEqual(FLOOD_LIMIT_MS);
        expect(victim.pid).toBe(pid);
        expect(await friend.result(`lab:count_${victim.name}`, { ticket: 'after' })).toMatchObject({ ticket: 'after' });
        expect(rssMegabytes(victim.pid) - rss).toBeLessThanOrEqual(RSS_LIMIT_MB);
        expect(attackedMs).toBeLessThanOrEqual(Math.max(FLOOR_MS, SLOWDOWN_LIMIT * calmMs));
      } finally {
        attack.stop();
      }
      const known = new Set([victim.id, friend.id, traitor.id]);
      for (const hub of [victim, friend]) {
        expect((await hub.peers()).filter((peer) => !known.has(peer.id) || peer.name === 'forged')).toEqual([]);
      }
    },
    ATTACK_LIMIT_MS,
  );
});
