import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { AtmoError, type ErrorBody } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { type HomeSpec, homeOf, standardHome } from '../../home/home-spec.ts';
import type { VirtualDevice } from '../../home/virtual-device.ts';
import { VirtualHome } from '../../home/virtual-home.ts';
import { DeviceHub } from '../../matter/device-hub.ts';
import { RunningHub } from '../running-hub.ts';
import { EventTap } from './event-tap.ts';
import { PIN } from './rows/moving-rows.ts';

const COMMISSIONED_AT_ONCE = 3;

/** A device of the hub and the names of its tools, without namespace. */
export interface OwnedDevice {
  readonly id: string;
  readonly name: string;
  readonly tools: readonly string[];
}

/** Where a hub keeps its state, and the level of its log. */
interface HubPlace {
  readonly dir: string;
  readonly log: string;
}

/** The whole standard home, every device of it commissioned by one hub, and all that the hub tells. */
export class OwnedHome implements AsyncDisposable {
  readonly home: VirtualHome;
  /** Of the hub as it was started first. */
  readonly events: EventTap;
  readonly #place: HubPlace;
  #hub: RunningHub;

  private constructor(parts: { home: VirtualHome; hub: RunningHub; events: EventTap; place: HubPlace }) {
    this.home = parts.home;
    this.#hub = parts.hub;
    this.events = parts.events;
    this.#place = parts.place;
  }

  /** Starts the home, or only the devices of these names. */
  static async start({ names, log = 'debug' }: { readonly names?: readonly string[]; readonly log?: string } = {}): Promise<OwnedHome> {
    const place = { dir: await mkdtemp(join(tmpdir(), 'every-tool-')), log };
    const spec = names ? homeOf(compactHome(), names) : compactHome();
    const [home, hub] = await Promise.all([VirtualHome.start({ spec, dir: join(place.dir, 'home') }), startHub(place)]);
    const owned = new OwnedHome({ home, hub, events: await EventTap.open(hub), place });
    const waiting = [...home.devices];
    await Promise.all(Array.from({ length: COMMISSIONED_AT_ONCE }, () => owned.#commissionFrom(waiting)));
    return owned;
  }

  get hub(): RunningHub {
    return this.#hub;
  }

  async restartHub(): Promise<void> {
    await this.#hub.stop();
    this.#hub = await startHub(this.#place);
  }

  /** SIGKILL, and a new start. */
  async killHub(): Promise<void> {
    await this.#hub.kill();
    this.#hub = await startHub(this.#place);
  }

  /** Ends the hub and connects to its devices from this process, where tests see more than a hub says of them. */
  async takeDevices(): Promise<DeviceHub> {
    await this.#hub.stop();
    const hub = new DeviceHub(this.#place.dir, { stateDir: join(this.#place.dir, 'hub/matter') });
    await hub.start();
    return hub;
  }

  device(name: string): VirtualDevice {
    return this.home.device(name);
  }

  /** What the hub has now. */
  async devices(): Promise<readonly OwnedDevice[]> {
    const { devices } = (await this.hub.get('/api/v1/devices')) as unknown as {
      devices: readonly { id: string; name: string }[];
    };
    const sorted = devices.toSorted((a, b) => a.id.localeCompare(b.id));
    return Promise.all(sorted.map(async ({ id, name }) => ({ id, name, tools: await this.toolsOf(id) })));
  }

  /** The same once the first reports of all devices have shaped their tools: two looks, a second apart, that agree. */
  async settledDevices(): Promise<readonly OwnedDevice[]> {
    for (let before = await this.devices(); ; ) {
      await setTimeout(1_000);
      const now = await this.devices();
      if (JSON.stringify(now) === JSON.stringify(before)) return now;
      before = now;
    }
  }

  /** Names of a device's tools, from every page of the registry. */
  async toolsOf(id: string): Promise<readonly string[]> {
    const names: string[] = [];
    for (let cursor = '0'; cursor !== ''; ) {
      const page = (await this.hub.get(`/api/v1/tools?device=${encodeURIComponent(id)}&limit=20&cursor=${cursor}`)) as unknown as ToolPage;
      names.push(...page.tools.map(({ name }) => name));
      cursor = page.next_cursor ?? '';
    }
    return names;
  }

  /** The error of a call that has to fail. */
  async refusal(tool: string, params: JsonObject = {}): Promise<ErrorBody> {
    const answer = await this.#hub.call(tool, params);
    if (answer.status === 'error') return answer.error;
    throw new AtmoError('CONFLICT', `${tool} ${JSON.stringify(params)} was not refused: ${JSON.stringify(answer.result)}`);
  }

  async sensors(): Promise<readonly SensorView[]> {
    return ((await this.hub.get('/api/v1/sensors')) as unknown as { sensors: readonly SensorView[] }).sensors;
  }

  /** Everything that the hub has written to its state directory so far. */
  async hubFiles(): Promise<readonly { readonly name: string; readonly content: Buffer }[]> {
    const entries = await readdir(join(this.#place.dir, 'hub'), { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    return Promise.all(files.map(async (name) => ({ name, content: await readFile(name) })));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.events[Symbol.asyncDispose]();
    await this.#hub.stop();
    await this.home[Symbol.asyncDispose]();
    await rm(this.#place.dir, { recursive: true, force: true });
  }

  async #commissionFrom(waiting: VirtualDevice[]): Promise<void> {
    for (let device = waiting.shift(); device !== undefined; device = waiting.shift()) {
      const { name, spec, pairing } = device;
      await this.hub.result('hub:commission_device', { code: pairing.qrCode, name, area: spec.area });
    }
  }
}

function startHub({ dir, log }: HubPlace): Promise<RunningHub> {
  return RunningHub.start({ stateDir: join(dir, 'hub'), env: { ATMO_LOG: log } });
}

interface ToolPage {
  readonly tools: readonly { readonly name: string }[];
  readonly next_cursor?: string;
}

/** One row of GET /api/v1/sensors. */
export interface SensorView extends JsonObject {
  readonly id: string;
  readonly device: string;
  readonly name: string;
  readonly unit: string;
}

/** The standard home in two processes, with a PIN that cannot turn up by chance in what the hub writes. */
function compactHome(): HomeSpec {
  const text = JSON.stringify(standardHome()).replaceAll(Buffer.from('1234').toString('hex'), Buffer.from(PIN).toString('hex'));
  const { devices } = JSON.parse(text) as HomeSpec;
  return { devices: devices.map((device) => ({ ...device, group: device.group ?? 'rooms' })) };
}
