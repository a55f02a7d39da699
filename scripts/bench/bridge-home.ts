import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../src/core/json.ts';
import type { Pairing } from '../../test/home/device-node.ts';
import { homeOf, slug, standardHome } from '../../test/home/home-spec.ts';
import { VirtualHome } from '../../test/home/virtual-home.ts';
import { LabMesh } from '../../test/live/mesh/lab-mesh.ts';
import type { MeshHub } from '../../test/live/mesh/mesh-hub.ts';
import { ROOT } from '../bundle.ts';
import { HubProgram } from './hub-program.ts';

/** Name of the lamp. */
export const LAMP = 'Living room lamp';
/** Tool that turns it off, at each of the hubs. */
export const TURN_OFF = 'matter:living_room_lamp_turn_off';
/** A bundled hub with Matter in the network of `scripts/in-netns`. */
export const BRIDGE_PROGRAM = {
  program: [join(ROOT, 'dist/atmo.mjs'), 'serve'],
  env: { ATMO_MATTER_INTERFACE: 'eth0', ATMO_LOG: 'warn' },
} as const;

/** Two hubs in one mesh. The first bridges an output of its board and the lamp of the second one. */
export class BridgeHome implements AsyncDisposable {
  readonly #mesh = new LabMesh();
  readonly #parts = new AsyncDisposableStack();
  #home: VirtualHome | undefined;

  async start(): Promise<this> {
    await HubProgram.build();
    this.#parts.use(await this.#mesh.start());
    const config = {
      matter: { enabled: true },
      sensors: { gpio: { backend: 'sim', outputs: { pump: { line: 'GPIO27', title: 'Pump' } } } },
    };
    this.#home = this.#parts.use(await VirtualHome.start({ spec: homeOf(standardHome(), [LAMP]), dir: this.#memoryDir() }));
    await this.#mesh.addMesh(2, { ...BRIDGE_PROGRAM, config });
    await this.second.result('hub:commission_device', { code: this.#home.device(LAMP).pairing.qrCode, name: LAMP });
    await this.#bridge({ thing: 'pump' });
    await this.#bridge({ thing: LAMP, hub: this.second.id });
    return this;
  }

  /** Folder for what ends with it. */
  get dir(): string {
    return join(this.#mesh.dir, 'controller');
  }

  get first(): MeshHub {
    return this.#hub(0);
  }

  get second(): MeshHub {
    return this.#hub(1);
  }

  /** Opens the lamp for one more controller. */
  async lampCode(): Promise<Pick<Pairing, 'manualCode'>> {
    return codeOf(await this.second.result('hub:share_device', { device_id: slug(LAMP) }));
  }

  async bridgeCode(): Promise<Pick<Pairing, 'manualCode'>> {
    return codeOf(await this.first.result('hub:open_bridge'));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.disposeAsync();
  }

  /**
   * Returns a folder in memory for what the lamp stores. The lamp stores its state before it answers, which a bridge does not, and how long
   * that takes says something about the disk of this machine alone.
   */
  #memoryDir(): string {
    const dir = mkdtempSync('/dev/shm/atmo-bridge-');
    this.#parts.defer(() => rmSync(dir, { recursive: true }));
    return dir;
  }

  /** The first hub knows of the device once the second one has announced it. */
  async #bridge(params: JsonObject): Promise<void> {
    for (;;) {
      const answer = await this.first.call('hub:bridge_device', params);
      if (answer.status === 'success') return;
      if (answer.error.code !== 'NOT_FOUND') throw new RangeError(JSON.stringify(answer.error));
    }
  }

  #hub(index: number): MeshHub {
    const hub = this.#mesh.hubs[index];
    if (!hub) throw new RangeError(`The hub ${index} has not started`);
    return hub;
  }
}

function codeOf({ manual_code: manualCode }: JsonObject): Pick<Pairing, 'manualCode'> {
  return { manualCode: String(manualCode) };
}
