import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fleet } from '../../test/home/fleet.ts';
import { VirtualHome } from '../../test/home/virtual-home.ts';
import { foundMesh, LabMesh, untilComplete } from '../../test/live/mesh/lab-mesh.ts';
import type { MeshHub } from '../../test/live/mesh/mesh-hub.ts';
import { ROOT } from '../bundle.ts';
import { runTool } from '../network-lab/run-tool.ts';
import { HubProgram } from './hub-program.ts';
import { MemoryGroup } from './memory-group.ts';

interface SmallHomeOptions {
  readonly devices: number;
  /** Bound of the control group in MB. */
  readonly limitMb: number;
  /** Memory profile of the hub under the bound. */
  readonly profile: string;
}

/**
 * A hub under a bound of memory, as a board has it, with Matter devices of its own; and beside it a second member of its mesh without a bound.
 * The hub runs on a copy of Node.js: the kernel counts a page of a file for the group that read it first, which on this machine would be another.
 */
export class SmallHome implements AsyncDisposable {
  readonly #options: SmallHomeOptions;
  readonly #parts = new AsyncDisposableStack();
  #group: MemoryGroup | undefined;
  #home: VirtualHome | undefined;
  #hubs: readonly MeshHub[] = [];

  constructor(options: SmallHomeOptions) {
    this.#options = options;
  }

  async start(): Promise<this> {
    try {
      await this.#start();
      return this;
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #start(): Promise<void> {
    await HubProgram.build();
    this.#group = MemoryGroup.open(this.#options.limitMb);
    if (this.#group) this.#parts.use(this.#group);
    const mesh = this.#parts.use(await new LabMesh().start());
    this.#home = this.#parts.use(await VirtualHome.start({ spec: fleet(this.#options.devices), dir: join(mesh.dir, 'home') }));
    const [host, otherHost] = await mesh.lab.addHosts(2);
    if (!host || !otherHost) throw new RangeError('The lab has no hosts');
    const node = join(mesh.dir, 'node');
    const launcher = [...(this.#group?.launcher ?? []), 'cp'];
    await runTool(launcher[0] ?? 'cp', [...launcher.slice(1), process.execPath, node]);
    const program = { program: [join(ROOT, 'dist/atmo.mjs'), 'serve'] };
    const cache = join(mesh.dir, 'cache');
    mkdirSync(cache);
    const hub = await mesh.addHub(host, {
      ...program,
      node,
      ...(this.#group && { launcher: this.#group.launcher }),
      config: { matter: { enabled: true }, memory: this.#options.profile },
      env: { ATMO_MATTER_INTERFACE: 'eth0', ATMO_LOG: 'warn', NODE_COMPILE_CACHE: cache },
    });
    const other = await mesh.addHub(otherHost, { ...program, env: { ATMO_LOG: 'warn' } });
    this.#hubs = [hub, other];
    for (const { name, spec, pairing } of this.home.devices) {
      await hub.result('hub:commission_device', { code: pairing.qrCode, name, area: spec.area ?? 'Hall' });
    }
    await foundMesh(this.#hubs);
    await untilComplete(this.#hubs);
  }

  /** The control group; undefined where this machine has no memory controller that may be used. */
  get group(): MemoryGroup | undefined {
    return this.#group;
  }

  get home(): VirtualHome {
    if (!this.#home) throw new RangeError('The home has not started');
    return this.#home;
  }

  /** The hub under the bound. */
  get hub(): MeshHub {
    return this.#hub(0);
  }

  /** The other member of its mesh. */
  get other(): MeshHub {
    return this.#hub(1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync();
  }

  #hub(index: number): MeshHub {
    const hub = this.#hubs[index];
    if (!hub) throw new RangeError(`The hub ${index} has not started`);
    return hub;
  }
}
