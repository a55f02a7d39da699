import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '../../../src/core/json.ts';
import { homeOf, standardHome, together } from '../../home/home-spec.ts';
import { VirtualHome } from '../../home/virtual-home.ts';
import { MAIN } from '../main-program.ts';
import { RunningHub } from '../running-hub.ts';

const PORT = '18091';
const DEVICES = ['Living room lamp', 'Garden thermometer', 'Front door'] as const;

/** A hub with a lamp, a thermometer and a lock, and the person who runs it. */
export class McpHome implements AsyncDisposable {
  readonly dir: string;
  readonly devices: VirtualHome;
  #hub: RunningHub;

  private constructor(devices: VirtualHome, hub: RunningHub, dir: string) {
    this.devices = devices;
    this.#hub = hub;
    this.dir = dir;
  }

  static async start(): Promise<McpHome> {
    const dir = mkdtempSync(join(tmpdir(), 'mcp-live-'));
    mkdirSync(join(dir, 'owner'), { mode: 0o700 });
    const devices = await VirtualHome.start({ spec: together(homeOf(standardHome(), [...DEVICES])), dir: join(dir, 'home') });
    const home = new McpHome(devices, await startHub(dir), dir);
    for (const name of DEVICES) {
      const { pairing } = devices.device(name);
      await home.hub.result('hub:commission_device', { code: pairing.qrCode, name, accept_attestation: true });
    }
    return home;
  }

  get hub(): RunningHub {
    return this.#hub;
  }

  /** What a process of this person sees of the hub. */
  get env(): Record<string, string> {
    return {
      PATH: process.env.PATH ?? '',
      HOME: join(this.dir, 'owner'),
      ATMO_STATE_DIR: join(this.dir, 'state'),
      ATMO_HTTP_PORT: PORT,
    };
  }

  async token(agent: string, permissions: readonly string[]): Promise<string> {
    return String((await this.#hub.result('hub:mint_token', { agent_id: agent, permissions, ttl_seconds: 3_600 })).token);
  }

  /** Agrees to a request, as the owner at the command line does. */
  async approve(id: string): Promise<void> {
    await this.atmo('approve', id);
  }

  /** `atmo` as a process of the owner; what it prints as JSON. */
  atmo(...words: readonly string[]): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      execFile(process.execPath, [MAIN, ...words, '--json'], { env: this.env, timeout: 30_000 }, (error, stdout, stderr) =>
        error ? reject(new Error(`atmo ${words.join(' ')}: ${stderr}`)) : resolve(JSON.parse(stdout) as JsonObject),
      );
    });
  }

  async killHub(): Promise<void> {
    await this.#hub.kill();
  }

  async restartHub(): Promise<void> {
    this.#hub = await startHub(this.dir);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#hub[Symbol.asyncDispose]();
    await this.devices[Symbol.asyncDispose]();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

function startHub(dir: string): Promise<RunningHub> {
  return RunningHub.start({ stateDir: join(dir, 'state'), env: { ATMO_HTTP_PORT: PORT, HOME: join(dir, 'owner') } });
}
