import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AtmoError } from '../../src/core/errors.ts';
import { isJsonObject, type JsonObject } from '../../src/core/json.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { loadConfig } from '../../src/hub/config/config.ts';
import { Hub } from '../../src/hub/hub.ts';
import { ManualClock } from '../../test/manual-clock.ts';
import { passTime } from './simulated-day.ts';

setFlagsFromString('--expose-gc');
/** What V8 holds and nobody needs is no leak. */
const collectGarbage = runInNewContext('gc') as () => void;
const ZONES = 10;
const STEP_MS = 60_000;
const CALL_EVERY_STEPS = 10;
const CONFIG = { matter: { enabled: false }, clock: { trust: 'always' }, http: { port: 0 } };

/** What a hub takes of its machine at one moment. */
export interface SoakSample {
  /** Of simulated time. */
  readonly day: number;
  readonly heapMegabytes: number;
  readonly rssMegabytes: number;
  /** Open files, sockets among them. */
  readonly descriptors: number;
  /** Timers, sockets and requests that keep the process alive or wait. */
  readonly handles: number;
  /** Of all files in the state directory. */
  readonly diskMegabytes: number;
}

/**
 * A whole hub in this process, its clock moved by hand: real files, real HTTP, an automation that runs every minute, and thermal
 * zones of a board whose readings change.
 */
export class SoakHub implements AsyncDisposable {
  readonly clock = new ManualClock(Date.now());
  readonly #dir: string;
  readonly #sysfs: string;
  readonly #hub: Hub;
  readonly #startMs: number;
  #calls = 0;
  #step = 0;
  #oldestReadingSeconds = 0;

  constructor(dir: string) {
    this.#dir = join(dir, 'state');
    mkdirSync(this.#dir, { mode: 0o700 });
    this.#sysfs = join(dir, 'sys');
    writeFileSync(join(this.#dir, 'config.yaml'), JSON.stringify({ ...CONFIG, sensors: { sysfs: this.#sysfs, poll_seconds: 60 } }), {
      mode: 0o600,
    });
    for (let zone = 0; zone < ZONES; zone++) this.#heat(zone);
    this.#hub = new Hub({ clock: this.clock, logger: silentLogger }, { config: loadConfig({}, this.#dir), version: '0.0.0' });
    this.#startMs = this.clock.now();
  }

  async start(): Promise<this> {
    await this.#hub.start();
    await this.call('spawn_agent', {
      agent_type: 'automation',
      name: 'minute',
      permissions: ['compute:*'],
      ttl_seconds: 31 * 86_400,
      config: {
        trigger: { type: 'every', seconds: 60 },
        max_runs_per_hour: 120,
        actions: [{ tool: 'core:echo', params: { value: 'tick' } }],
      },
    });
    return this;
  }

  /** Calls made over HTTP so far. */
  get calls(): number {
    return this.#calls;
  }

  /** Of all readings, each time that they were asked for. */
  get oldestReadingSeconds(): number {
    return this.#oldestReadingSeconds;
  }

  /** Lets so many days pass, with calls and lists as agents and the page make them. */
  async live(days: number): Promise<void> {
    await passTime(this.clock, { forMs: days * 86_400_000, stepMs: STEP_MS }, async () => {
      this.#step++;
      await boardRead();
      this.#heat(this.#step % ZONES);
      if (this.#step % CALL_EVERY_STEPS === 0) await this.round();
    });
  }

  /** What an agent asks for in one go. */
  async round(): Promise<void> {
    await this.call('core:echo', { value: 'the lamp in the hall, please' });
    await this.#get('/api/v1/tools?limit=50');
    await this.#readBoard();
    await this.#get('/api/v1/audit?limit=20');
  }

  /** The result of a call; the error that it answers is thrown. */
  async call(tool: string, params: JsonObject): Promise<JsonObject> {
    const answer = await this.#get(`/api/v1/tools/${encodeURIComponent(tool)}/invoke`, params);
    return isJsonObject(answer.result) ? answer.result : {};
  }

  /** How often the automation has run, against how often its minute has passed. */
  async drift(): Promise<{ readonly runs: number; readonly minutes: number }> {
    const { agents } = (await this.call('list_agents', {})) as unknown as { agents: readonly { runs?: number }[] };
    return { runs: agents[0]?.runs ?? 0, minutes: Math.floor((this.clock.now() - this.#startMs) / 60_000) };
  }

  sample(): SoakSample {
    collectGarbage();
    const { heapUsed, rss } = process.memoryUsage();
    return {
      day: (this.clock.now() - this.#startMs) / 86_400_000,
      heapMegabytes: heapUsed / 1_048_576,
      rssMegabytes: rss / 1_048_576,
      descriptors: readdirSync('/proc/self/fd').length,
      handles: process.getActiveResourcesInfo().length,
      diskMegabytes: bytesBelow(this.#dir) / 1_048_576,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#hub[Symbol.asyncDispose]();
  }

  async #get(path: string, body?: JsonObject): Promise<JsonObject> {
    const token = readFileSync(join(this.#dir, 'owner.token'), 'utf8').trim();
    const response = await fetch(`${this.#hub.url}${path}`, {
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    this.#calls++;
    const answer = (await response.json()) as JsonObject;
    if (!response.ok || answer.status === 'error') throw new AtmoError('INTERNAL_ERROR', `${path}: ${JSON.stringify(answer)}`);
    return answer;
  }

  async #readBoard(): Promise<void> {
    const { sensors } = (await this.#get('/api/v1/sensors')) as unknown as { sensors: readonly { age_ms: number | null }[] };
    const ages = sensors.map(({ age_ms: ageMs }) => (ageMs ?? Number.POSITIVE_INFINITY) / 1000);
    if (ages.length !== ZONES) throw new AtmoError('INTERNAL_ERROR', `The hub has ${ages.length} sensors of ${ZONES}`);
    this.#oldestReadingSeconds = Math.max(this.#oldestReadingSeconds, ...ages);
  }

  #heat(zone: number): void {
    const folder = join(this.#sysfs, `class/thermal/thermal_zone${zone}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'type'), `zone-${zone}\n`);
    writeFileSync(join(folder, 'temp'), `${40_000 + Math.floor(Math.random() * 20_000)}\n`);
  }
}

/** Sysfs is read beside the event loop, one request after the other; time waits until all that fell due was read. */
async function boardRead(): Promise<void> {
  do await nextTurn();
  while (process.getActiveResourcesInfo().some((resource) => /^(FSReq|CloseReq)/.test(resource)));
}

function bytesBelow(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.reduce((sum, { parentPath, name }) => sum + (statSync(join(parentPath, name), { throwIfNoEntry: false })?.size ?? 0), 0);
}
