/** The hubs that the gate measures: for each of the two programs one with a light, and two that are a mesh of their own. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError } from '../../../src/core/errors.ts';
import { foundMesh, type LabMesh, untilComplete } from '../../../test/live/mesh/lab-mesh.ts';
import type { MeshHub } from '../../../test/live/mesh/mesh-hub.ts';
import type { LabHost } from '../../network-lab/lab-host.ts';
import { HubProgram } from '../hub-program.ts';
import type { Side } from './verdict.ts';

/** A program under its name in the figures. */
export interface SideProgram {
  readonly side: Side;
  /** Path of its bundle. */
  readonly program: string;
}

/** The hub with a light: it is started again and again, with the state that it has. */
export class LightHub implements AsyncDisposable {
  readonly #dir: string;
  readonly #program: string;
  #hub: HubProgram | undefined;

  /** `dir` is for its state. */
  constructor({ side, program }: SideProgram, dir: string) {
    this.#dir = join(dir, side);
    this.#program = program;
    mkdirSync(this.#dir, { recursive: true });
  }

  /** Starts it and calls a tool that needs no device; resolves with the milliseconds from exec to the answer. */
  async start(): Promise<number> {
    const hub = await HubProgram.start(this.#dir, this.#program);
    this.#hub = hub;
    await hub.call('echo', { value: 1 });
    return performance.now() - hub.process.startedMs;
  }

  async stop(): Promise<void> {
    await this.#hub?.[Symbol.asyncDispose]();
    this.#hub = undefined;
  }

  /** While it runs. */
  get hub(): HubProgram {
    if (!this.#hub) throw new AtmoError('INTERNAL_ERROR', `The hub in ${this.#dir} does not run`);
    return this.#hub;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** Two hubs of one program as members of a mesh, in a network that they share with nobody. */
export interface MeshSide {
  readonly here: MeshHub;
  readonly there: MeshHub;
}

/** Starts two hubs of a program in network `lan` of the lab, and waits until each knows the tools of the other. */
export async function meshSide(mesh: LabMesh, { side, program }: SideProgram, lan: number): Promise<MeshSide> {
  const prefix = side.slice(0, 4);
  const hosts = [await mesh.lab.addHost(`${prefix}a`, { lans: [lan] }), await mesh.lab.addHost(`${prefix}b`, { lans: [lan] })] as const;
  const hub = (host: LabHost) => mesh.addHub(host, { program: [program, 'serve'] });
  const [here, there] = await Promise.all([hub(hosts[0]), hub(hosts[1])]);
  await foundMesh([here, there]);
  await untilComplete([here, there]);
  return { here, there };
}
