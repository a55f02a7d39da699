import { join } from 'node:path';
import type { JsonObject } from '../../src/core/json.ts';
import { LabMesh } from '../../test/live/mesh/lab-mesh.ts';
import type { MeshHub } from '../../test/live/mesh/mesh-hub.ts';
import { ROOT } from '../bundle.ts';
import { HubProgram } from './hub-program.ts';

const PROGRAM = [join(ROOT, 'dist/atmo.mjs'), 'serve'];

/** Two members of a mesh, bundled as they are installed, each on a host of its own; and a third hub in another network that is in no mesh. */
export class MeshPair implements AsyncDisposable {
  readonly #mesh = new LabMesh();
  readonly #config: JsonObject;
  #hubs: readonly MeshHub[] = [];
  #alone: MeshHub | undefined;

  /** `config` is for each of the three hubs. */
  constructor(config: JsonObject = {}) {
    this.#config = config;
  }

  async start(): Promise<this> {
    await HubProgram.build();
    await this.#mesh.start();
    const options = { program: PROGRAM, config: this.#config };
    this.#hubs = await this.#mesh.addMesh(2, options);
    this.#alone = await this.#mesh.addHub(await this.#mesh.lab.addHost('alone', { lans: [1] }), options);
    return this;
  }

  get members(): readonly [MeshHub, MeshHub] {
    return this.#hubs as readonly [MeshHub, MeshHub];
  }

  get alone(): MeshHub {
    return this.#alone as MeshHub;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#mesh[Symbol.asyncDispose]();
  }
}

/** Bytes in both directions at the card of a hub's host, with Ethernet headers. */
export async function bytesOf(hub: MeshHub): Promise<number> {
  const { receivedBytes, sentBytes } = await hub.host.traffic();
  return receivedBytes + sentBytes;
}
