import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClientNode } from '@matter/main/node';
import { expect } from 'vitest';
import { LabHost } from '../../scripts/network-lab/lab-host.ts';
import { readApproverKey, signedDecision } from '../../src/cli/identity/approver-key.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { BareController } from '../home/bare-controller.ts';
import type { HomeSpec } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { foundMesh, untilComplete } from './mesh/lab-mesh.ts';
import { MeshHub } from './mesh/mesh-hub.ts';

/** Two hubs in one mesh, of which the first has bridges, the devices of the second one, and a controller that is no hub. */
export class BridgeLab implements AsyncDisposable {
  readonly dir = mkdtempSync(join(tmpdir(), 'matter-bridge-'));
  readonly first: MeshHub;
  readonly second: MeshHub;
  readonly #hosts = [new LabHost('first-hub', 2), new LabHost('second-hub', 3)] as const;
  readonly #parts = new AsyncDisposableStack();

  /** `sensors` is the section of the first hub's configuration. */
  constructor(sensors: JsonObject) {
    const [first, second] = this.#hosts;
    const options = { dir: this.dir, env: { ATMO_MATTER_INTERFACE: 'eth0' } };
    this.first = new MeshHub({ ...options, host: first, config: { matter: { enabled: true }, sensors } });
    this.second = new MeshHub({ ...options, host: second, config: { matter: { enabled: true }, sensors: { discover: false } } });
  }

  /** Starts all, and lets the second hub have the devices of the home. */
  async start(spec: HomeSpec): Promise<Started> {
    this.#parts.defer(() => rmSync(this.dir, { recursive: true, force: true }));
    for (const host of this.#hosts) {
      await host.start();
      this.#parts.use(host);
    }
    const home = this.#parts.use(await VirtualHome.start({ spec, dir: join(this.dir, 'home') }));
    const hubs = [this.first, this.second];
    for (const hub of hubs) this.#parts.use(hub);
    await Promise.all(hubs.map((hub) => hub.start()));
    for (const { name, pairing } of home.devices) await this.second.result('hub:commission_device', { code: pairing.qrCode, name });
    await foundMesh(hubs);
    await untilComplete(hubs);
    return { home, controller: this.#parts.use(await BareController.start(join(this.dir, 'controller'))) };
  }

  /** Bridges a thing, and returns what `hub:bridge_device` answers. */
  bridge(thing: string, options: JsonObject = {}): Promise<JsonObject> {
    return this.first.result('hub:bridge_device', { thing, ...options });
  }

  /** Lets a controller commission a bridge. */
  async commission(controller: BareController, bridge = 1): Promise<ClientNode> {
    const { manual_code: manualCode } = await this.first.result('hub:open_bridge', { bridge });
    return controller.commission({ manualCode: String(manualCode) });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.disposeAsync();
  }
}

interface Started {
  readonly home: VirtualHome;
  readonly controller: BareController;
}

/** Lets the owner of a hub approve what an agent asks for there. */
export async function approve(hub: MeshHub, agent: string): Promise<void> {
  const { approvals } = (await hub.result('hub:list_approvals')) as { approvals: readonly JsonObject[] };
  const asked =
    approvals.find(({ agent_id: id, state }) => id === agent && state === 'pending') ??
    expect.unreachable(`${agent} asks for nothing: ${JSON.stringify(approvals)}`);
  const key = readApproverKey(join(hub.stateDir, 'owner.key'));
  const decision = signedDecision(asked, { decision: 'approve', person: 'owner', key });
  expect((await hub.door.send(`/api/v1/approvals/${String(asked.approval_id)}`, decision)).status).toBe(200);
}

/** Returns whether an output of a hub's board is on. */
export async function isOn(hub: MeshHub, output: string): Promise<boolean> {
  const { values } = (await hub.result('query_sensor', { sensor_id: `gpio/${output}` })) as { values: readonly { value: unknown }[] };
  return values[0]?.value === 1;
}
