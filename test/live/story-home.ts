import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { nextSunMoment } from '../../src/automations/triggers/sun-times.ts';
import { type Json, type JsonObject, objectOf } from '../../src/core/json.ts';
import { homeOf, standardHome, together } from '../home/home-spec.ts';
import type { VirtualDevice } from '../home/virtual-device.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { RunningHub } from './running-hub.ts';

const COMMISSIONED_AT_ONCE = 3;
const MINUTE_MS = 60_000;
const HALF_DAY_MS = 12 * 3_600_000;
/** A lap of the sun takes 240 s for each degree. */
const MS_PER_DEGREE = 240_000;
const SOON = { timeout: 30_000, interval: 100 };

/** An automation as its owner writes it, with the permissions that it gets. */
interface Wish {
  readonly name: string;
  readonly yaml: string;
  readonly allow: readonly string[];
}

/** An automation that lives until the end of its block. */
export interface LivingAutomation extends AsyncDisposable {
  readonly id: string;
}

/** A place where the sun sets at a moment, and a sunrise trigger there that comes some seconds later. */
interface SunnyPlace {
  readonly place: { readonly latitude: number; readonly longitude: number };
  /** Minutes from the sunrise after it to the trigger; negative. */
  readonly sunriseOffset: number;
}

/** A virtual home whose devices one hub has, at a place where the sun sets about a minute after the start. */
export class StoryHome implements AsyncDisposable {
  readonly home: VirtualHome;
  readonly sunriseOffset: number;
  readonly #dir: string;
  #hub: RunningHub;

  private constructor(parts: { home: VirtualHome; hub: RunningHub; dir: string; sunriseOffset: number }) {
    this.home = parts.home;
    this.sunriseOffset = parts.sunriseOffset;
    this.#hub = parts.hub;
    this.#dir = parts.dir;
  }

  /** The sun sets so long after the second start of the hub, which takes no longer than the first one, beside the home. */
  static async start(names: readonly string[], sunsetInMs: number): Promise<StoryHome> {
    const dir = mkdtempSync(join(tmpdir(), 'automation-stories-'));
    const stateDir = join(dir, 'hub');
    const spec = together(homeOf(standardHome(), names));
    const config = { sensors: { discover: false } };
    const beganMs = performance.now();
    const [home, first] = await Promise.all([VirtualHome.start({ spec, dir: join(dir, 'home') }), RunningHub.start({ stateDir, config })]);
    const startMs = performance.now() - beganMs;
    const waiting = [...home.devices];
    await Promise.all(Array.from({ length: COMMISSIONED_AT_ONCE }, () => commissionFrom(waiting, first)));
    await first.stop();
    // The place stands in the configuration, so that the hub starts again with it: the sun then sets soon, and no clock is changed.
    const { place, sunriseOffset } = placeOfSunset(Date.now() + startMs + sunsetInMs);
    const hub = await RunningHub.start({ stateDir, config: { ...config, connectors: { location: { hub: place } } } });
    return new StoryHome({ home, hub, dir, sunriseOffset });
  }

  get hub(): RunningHub {
    return this.#hub;
  }

  device(name: string): VirtualDevice {
    return this.home.device(name);
  }

  /** Starts an automation, which ends with the block of its caller. */
  async automation({ name, yaml, allow }: Wish): Promise<LivingAutomation> {
    const config = parseYaml(yaml) as JsonObject;
    const { agent_id: id } = await this.hub.result('spawn_agent', { agent_type: 'automation', name, config, permissions: [...allow] });
    const end = () => this.hub.result('kill_agent', { agent_id: String(id) });
    return { id: String(id), [Symbol.asyncDispose]: async () => void (await end()) };
  }

  /** Posts to the webhook `go` of an automation, as another system does. Returns whether a trigger waited for it. */
  async post(agentId: string): Promise<unknown> {
    const init = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };
    const answer = (await (await this.hub.request(`/api/v1/agents/${agentId}/webhooks/go`, init)).json()) as JsonObject;
    return objectOf(answer.result).received;
  }

  /** Waits until an attribute of the first endpoint has a value in the device itself. */
  async shows(name: string, [cluster, attribute]: readonly [string, string], value: unknown): Promise<void> {
    await expect.poll(() => this.device(name).get(1, cluster, attribute), SOON).toEqual(value);
  }

  async isLit(name: string, isLit: boolean): Promise<void> {
    await this.shows(name, ['OnOff', 'onOff'], isLit);
  }

  /** Switches a light by the hub, as somebody at home does. */
  async light(name: string, isLit: boolean): Promise<void> {
    const slug = name.toLowerCase().replaceAll(' ', '_');
    await this.hub.result(`matter:${slug}_turn_${isLit ? 'on' : 'off'}`);
  }

  /** How often the device itself got a command. */
  async count(name: string, command: string): Promise<number> {
    return (await this.device(name).commands()).filter((one) => one.command === command).length;
  }

  /** The device senses something, and the hub has heard of it. */
  async sense(sensor: string, value: Json, sensing: () => Promise<void>): Promise<void> {
    await sensing();
    const latest = async () => ((await this.hub.result('query_sensor', { sensor_id: sensor })).values as readonly JsonObject[])[0]?.value;
    await expect.poll(latest, SOON).toBe(typeof value === 'boolean' ? Number(value) : value);
  }

  async runs(id: string): Promise<unknown> {
    const { agents } = await this.hub.result('list_agents');
    return (agents as readonly JsonObject[]).find(({ agent_id: agent }) => agent === id)?.runs;
  }

  /** The hub is killed as by a power cut, and starts again. */
  async killHub(): Promise<void> {
    await this.#hub.kill();
    this.#hub = await RunningHub.start({ stateDir: join(this.#dir, 'hub') });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#hub.stop();
    await this.home[Symbol.asyncDispose]();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

async function commissionFrom(waiting: VirtualDevice[], hub: RunningHub): Promise<void> {
  for (let device = waiting.shift(); device !== undefined; device = waiting.shift()) {
    const { name, spec, pairing } = device;
    await hub.result('hub:commission_device', { code: pairing.qrCode, name, area: spec.area });
  }
}

/**
 * Returns a place near the equator where the sun sets at a moment. Nights are shorter than twelve hours there, so that a trigger before the
 * next sunrise can come just after the sunset; the latitude decides by how many seconds.
 */
function placeOfSunset(atMs: number): SunnyPlace {
  for (let latitude = -8; latitude <= 8; latitude += 0.05) {
    const place = { latitude, longitude: longitudeOfSunset(latitude, atMs) };
    const nightMs = (nextSunMoment({ event: 'sunrise', offsetMinutes: 0 }, place, atMs) ?? Infinity) - atMs;
    const minutes = Math.floor(nightMs / MINUTE_MS);
    const afterMs = nightMs - minutes * MINUTE_MS;
    if (minutes <= 720 && afterMs > 10_000 && afterMs < 14_000) return { place, sunriseOffset: -minutes };
  }
  throw new Error('The search found no place where the sun sets then');
}

function longitudeOfSunset(latitude: number, atMs: number): number {
  let longitude = 0;
  for (let round = 0; round < 8; round++) {
    const sunsetMs = nextSunMoment({ event: 'sunset', offsetMinutes: 0 }, { latitude, longitude }, atMs - HALF_DAY_MS) ?? atMs;
    longitude = ((longitude + (sunsetMs - atMs) / MS_PER_DEGREE + 540) % 360) - 180;
  }
  return longitude;
}
