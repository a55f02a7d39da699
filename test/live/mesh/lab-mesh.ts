import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LabHost } from '../../../scripts/network-lab/lab-host.ts';
import { NetworkLab } from '../../../scripts/network-lab/network-lab.ts';
import { MeshHub, type MeshHubOptions } from './mesh-hub.ts';
import { timeUntil } from './until.ts';

const PASSPHRASE = 'a passphrase for the lab';
const COMPLETE_LIMIT_MS = 60_000;

/** A lab with hubs that end with it. */
export class LabMesh implements AsyncDisposable {
  readonly lab = new NetworkLab();
  readonly dir = mkdtempSync(join(tmpdir(), 'atmo-mesh-'));
  readonly #hubs: MeshHub[] = [];

  get hubs(): readonly MeshHub[] {
    return this.#hubs;
  }

  async start(): Promise<this> {
    await this.lab.start();
    return this;
  }

  /** Makes a hub on a host and starts it; it is in no mesh yet. */
  async addHub(host: LabHost, options: Omit<MeshHubOptions, 'host' | 'dir'> = {}): Promise<MeshHub> {
    const hub = new MeshHub({ ...options, host, dir: this.dir });
    this.#hubs.push(hub);
    return hub.start();
  }

  /** Hubs on hosts of their own in network 0, two starting at a time, as members of one mesh that know each other's tools. */
  async addMesh(count: number, options: Omit<MeshHubOptions, 'host' | 'dir'> = {}): Promise<readonly MeshHub[]> {
    const hosts = await this.lab.addHosts(count);
    const hubs: MeshHub[] = [];
    for (let index = 0; index < hosts.length; index += 2) {
      hubs.push(...(await Promise.all(hosts.slice(index, index + 2).map((host) => this.addHub(host, options)))));
    }
    await foundMesh(hubs);
    await untilComplete(hubs);
    return hubs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#hubs.map((hub) => hub[Symbol.asyncDispose]()));
    await this.lab[Symbol.asyncDispose]();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** The first makes a mesh and invites the others, one after the other. */
export async function foundMesh([founder, ...others]: readonly MeshHub[]): Promise<void> {
  if (!founder) throw new Error('A mesh without hubs');
  await founder.result('hub:mesh_create', { passphrase: PASSPHRASE });
  for (const hub of others) await admit(founder, hub);
}

/** Invites a hub by whoever may, and lets it join. */
export async function admit(inviter: MeshHub, hub: MeshHub): Promise<void> {
  const { invite } = await inviter.result('hub:mesh_invite', {});
  await hub.result('hub:mesh_join', { invite: String(invite) });
}

/** Milliseconds until each of the hubs knows every other with all its tools. */
export function untilComplete(hubs: readonly MeshHub[], limitMs = COMPLETE_LIMIT_MS): Promise<number> {
  const waiting = hubs.flatMap((hub) => hubs.filter((other) => other !== hub).map((other) => [hub, other] as const));
  const ask = async () => {
    for (let pair = waiting.at(-1); pair && (await pair[0].knows(pair[1])); pair = waiting.at(-1)) waiting.pop();
    return waiting.length === 0;
  };
  return timeUntil(limitMs, ask, () => waiting.map(([hub, other]) => `${hub.name} to know ${other.name}`).join(', '));
}
