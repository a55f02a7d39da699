import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isJsonObject, type Json, type JsonObject } from '../../src/core/json.ts';
import type { VirtualHome } from '../../test/home/virtual-home.ts';
import type { MeshHub } from '../../test/live/mesh/mesh-hub.ts';
import { ROOT } from '../bundle.ts';
import type { SmallHome } from './small-home.ts';

/** Of the ten types of `fleet`, those that can be turned on: the first, fourth, sixth and ninth of each ten. */
const SWITCHABLE = [0, 3, 5, 8];
const THERMOMETER = 1;
const PASSPHRASE = 'a passphrase for the backups of a bench';
const PICTURE_BYTES = 500_000;
/** So many failures are kept and printed. */
const MOST_FAILURES = 50;
const PAGE_OPEN_MS = 25_000;
const PROTOCOL = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': PROTOCOL,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const SENTENCES = [
  'turn on the light in the kitchen',
  'how warm is it in the bedroom',
  'close the blinds',
  'switch the plug off',
  'is a window open',
];
/** What the page reads when it opens. */
const PAGE_READS = [
  'me',
  'devices',
  'areas',
  'scenes',
  'sensors',
  'approvals',
  'notices',
  'people',
  'mesh',
  'tools?limit=100',
  'audit?limit=50',
  'jobs',
  'capabilities',
];

/** What one kind of work has done. */
interface WorkCount {
  done: number;
  failed: number;
  /** Milliseconds of each. */
  readonly times: number[];
}

/** Mixed work for a hub, as a household with a phone on the wall, an agent and a second hub has it. Each kind goes on by itself. */
export class SmallLoad {
  readonly #world: SmallHome;
  readonly counts = new Map<string, WorkCount>();
  /** The first failures, each once. */
  readonly failures = new Set<string>();
  readonly #ended = new AbortController();
  #work: Promise<unknown> = Promise.resolve();
  #events = 0;
  #slowReadersEnded = 0;
  #turn = 0;

  constructor(world: SmallHome) {
    this.#world = world;
  }

  /** Events that arrived at readers that read. */
  get events(): number {
    return this.#events;
  }

  /** How often the hub disconnected the reader that does not read. */
  get slowReadersEnded(): number {
    return this.#slowReadersEnded;
  }

  /** Begins. `backupEveryMs` is the time between two backups. */
  async begin(backupEveryMs: number): Promise<void> {
    const { hub, other, home } = this.#world;
    await hub.result('hub:set_backup_schedule', { keep: 2, passphrase: PASSPHRASE });
    await this.#addAutomations(hub);
    const remoteTool = `lab:count_${other.name}`;
    this.#work = Promise.all([
      this.#repeat('toggle', 500, () => hub.result(...this.#toggle(home))),
      this.#repeat('reading', 1_000, () => this.#change(home)),
      this.#repeat('read', 1_000, () =>
        this.#get(['/api/v1/sensors', '/api/v1/devices', `/api/v1/devices/device-2`][this.#turn % 3] ?? ''),
      ),
      this.#repeat('history', 5_000, () => this.#get('/api/v1/sensors/device-2%2Ftemperature/readings')),
      this.#repeat('list', 5_000, () => this.#get('/api/v1/tools?limit=100')),
      this.#repeat('search', 2_000, () => this.#discover()),
      this.#repeat('mcp list', 10_000, () => this.#listOverMcp()),
      this.#repeat('mcp call', 2_000, () => this.#callOverMcp()),
      this.#repeat('remote in', 1_000, () => other.result(...this.#toggle(home))),
      this.#repeat('remote out', 1_000, () => hub.result(remoteTool, { ticket: 'bench' })),
      this.#repeat('remote picture', 15_000, () => hub.result(remoteTool, { ticket: 'bench', picture_bytes: PICTURE_BYTES })),
      this.#repeat('group', 10_000, () =>
        hub.result('control_area', { area: 'Kitchen', what: 'lights', action: this.#turn % 2 === 0 ? 'on' : 'off' }),
      ),
      this.#repeat('page', 30_000, () => this.#openPage(hub)),
      this.#repeat('backup', backupEveryMs, () => hub.result('hub:make_backup', {})),
      this.#readNothing(hub),
    ]);
    await Promise.all([this.#follow(hub), this.#follow(other)]);
  }

  /** Ends all work, and waits for what is under way. */
  async end(): Promise<void> {
    this.#ended.abort();
    await this.#work;
  }

  async #repeat(name: string, everyMs: number, work: () => Promise<unknown>): Promise<void> {
    const count: WorkCount = { done: 0, failed: 0, times: [] };
    this.counts.set(name, count);
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await sleep(everyMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const startMs = performance.now();
      try {
        await work();
        count.done++;
        count.times.push(performance.now() - startMs);
      } catch (error) {
        count.failed++;
        const failure = `${name}: ${String(error).slice(0, 800)}`;
        if (this.failures.size < MOST_FAILURES && !this.failures.has(failure)) process.stderr.write(`${failure}\n`);
        if (this.failures.size < MOST_FAILURES) this.failures.add(failure);
      }
    }
  }

  /** The next tool and its parameters: each light and plug in turn, on and then off. */
  #toggle(home: VirtualHome): readonly [string, JsonObject] {
    const lamps = home.devices.filter((_, index) => SWITCHABLE.includes(index % 10));
    const turn = this.#turn++;
    const number = home.devices.indexOf(lamps[turn % lamps.length] ?? home.device('Device 1')) + 1;
    return [`matter:device_${number}_turn_${Math.floor(turn / lamps.length) % 2 === 0 ? 'on' : 'off'}`, {}];
  }

  /** The temperature changes, with which automations and event streams have something to do. */
  async #change(home: VirtualHome): Promise<void> {
    const thermometers = home.devices.filter((_, index) => index % 10 === THERMOMETER);
    const device = thermometers[this.#turn % thermometers.length];
    await device?.set(1, 'TemperatureMeasurement', 'MeasuredValue', 1_800 + Math.round(Math.random() * 800));
  }

  async #get(path: string): Promise<Json> {
    const { status, body } = await this.#world.hub.door.send(path);
    if (status !== 200) throw new RangeError(`${path} answered ${status}: ${JSON.stringify(body).slice(0, 200)}`);
    return body;
  }

  async #discover(): Promise<void> {
    const query = SENTENCES[this.#turn % SENTENCES.length] ?? '';
    const { status } = await this.#world.hub.door.send('/api/v1/tools/discover', { query });
    if (status !== 200) throw new RangeError(`discover answered ${status}`);
  }

  /** All pages of the longest list. */
  async #listOverMcp(): Promise<void> {
    let cursor: Json | undefined;
    do {
      const page = await this.#mcp('/mcp/devices?schemas=full', 'tools/list', cursor === undefined ? {} : { cursor });
      cursor = page.nextCursor;
    } while (typeof cursor === 'string');
  }

  async #callOverMcp(): Promise<void> {
    const query = SENTENCES[this.#turn % SENTENCES.length] ?? '';
    const calls: readonly [string, JsonObject][] = [
      ['home_overview', {}],
      ['search_tools', { query }],
      ['read_sensor', { kind: 'temperature' }],
    ];
    const [name, args] = calls[this.#turn % calls.length] ?? ['home_overview', {}];
    const { isError, content } = await this.#mcp('/mcp', 'tools/call', { name, arguments: args });
    if (isError === true) throw new RangeError(`${name}: ${JSON.stringify(content).slice(0, 200)}`);
  }

  async #mcp(path: string, method: string, params: JsonObject): Promise<JsonObject> {
    const headers = {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': PROTOCOL,
      'mcp-method': method,
      ...(typeof params.name === 'string' && { 'mcp-name': params.name }),
    };
    const message = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } };
    const { body } = await this.#world.hub.door.send(path, message, { headers });
    if (isJsonObject(body) && isJsonObject(body.result)) return body.result;
    throw new RangeError(`${method} answered ${JSON.stringify(body).slice(0, 200)}`);
  }

  /** A browser without a cache opens the page, and follows the events for a while. */
  async #openPage(hub: MeshHub): Promise<void> {
    const assets = readdirSync(join(ROOT, 'dist/page/assets')).filter((name) => !/\.(br|gz)$/.test(name));
    const headers = { 'accept-encoding': 'br' };
    for (const path of ['/', ...assets.map((name) => `/assets/${name}`)]) {
      const { status } = await hub.door.fetch(path, undefined, { headers });
      if (status !== 200) throw new RangeError(`${path} answered ${status}`);
    }
    await Promise.all(PAGE_READS.map((path) => this.#get(`/api/v1/${path}`)));
    const signal = AbortSignal.any([this.#ended.signal, AbortSignal.timeout(PAGE_OPEN_MS)]);
    await hub.door.listen('', () => this.#events++, signal);
    await sleep(PAGE_OPEN_MS, undefined, { signal }).catch(() => undefined);
  }

  async #follow(hub: MeshHub): Promise<void> {
    await hub.door.listen('', () => this.#events++, this.#ended.signal);
  }

  /** Somebody who follows the events and reads none. Comes again when the hub has ended the connection. */
  async #readNothing(hub: MeshHub): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await hub.door.listenWithoutReading(signal);
      if (!signal.aborted) this.#slowReadersEnded++;
      await sleep(1_000, undefined, { signal }).catch(() => undefined);
    }
  }

  async #addAutomations(hub: MeshHub): Promise<void> {
    const automation = (name: string, permissions: readonly string[], config: JsonObject) =>
      hub.result('spawn_agent', { agent_type: 'automation', name, permissions: [...permissions], ttl_seconds: 86_400, config });
    await automation('tick', ['compute:*'], {
      trigger: { type: 'every', seconds: 10 },
      max_runs_per_hour: 1_000,
      actions: [{ tool: 'core:echo', params: { value: 'tick' } }],
    });
    await automation('warm', ['compute:*', 'device:control:*', 'sensor:read:*'], {
      trigger: { type: 'reading', sensor_id: 'device-2/temperature', above: 22 },
      max_runs_per_hour: 1_000,
      actions: [{ tool: 'matter:device_4_turn_on', params: {} }],
    });
  }
}
