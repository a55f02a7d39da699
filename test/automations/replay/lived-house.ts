import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentRecord } from '../../../src/automations/agent-store.ts';
import { Automation, type AutomationPorts } from '../../../src/automations/automation.ts';
import { House } from '../../../src/automations/house/house.ts';
import { ObservedByPlan } from '../../../src/automations/observed.ts';
import { parseAutomation } from '../../../src/automations/plan/parse-automation.ts';
import type { AutomationPlan } from '../../../src/automations/plan/plan-schema.ts';
import { AutomationReplayer } from '../../../src/automations/replay/automation-replay.ts';
import { EventRecorder } from '../../../src/automations/replay/event-recorder.ts';
import { PastClock } from '../../../src/automations/replay/past-clock.ts';
import { RunRateLimit } from '../../../src/automations/run/run-rate-limit.ts';
import { AutomationTracer } from '../../../src/automations/traces/automation-tracer.ts';
import { EventIndex } from '../../../src/automations/triggers/watch.ts';
import type { CallAnswer } from '../../../src/calls/request-and-answer.ts';
import type { Reachability } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import type { ReadingValue } from '../../../src/core/devices/sensor-readings.ts';
import { EventBus } from '../../../src/core/events.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { HistoryStore, type HistoryStoreOptions } from '../../../src/storage/history/history-store.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { listAuthorizer, settled } from '../../calls/pipeline-fixture.ts';
import { MemoryDirectory, makeDevice } from '../../http/http-fixture.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { sensorId, sensorInfo } from '../../storage/storage-fixture.ts';
import { journalParts } from '../../storage/storage-services.ts';
import { homePorts } from '../check/home-fixture.ts';
import { LAMP, OCCUPANCY, TEMPERATURE } from './house-life.ts';

const DAY_MS = 86_400_000;
/** Four days before Europe goes back to winter time. */
const START = Date.UTC(2026, 9, 21, 9);
const TIME_ZONE = 'Europe/Berlin';
const PLACE = { latitude: 52.5, longitude: 13.4 };
const DEVICES = ['hall-sensor', 'hall-lamp', 'hall-button'];
const KEEPS_ALL = { raw: 40 * DAY_MS, '5min': 60 * DAY_MS, '1h': 365 * DAY_MS };
const validator = new SchemaValidator();

interface ReplayCall {
  readonly signal?: AbortSignal;
  readonly days?: number;
  /** Id of the agent that asks. */
  readonly caller?: string;
}

/** A house in which an automation lives while its history is kept. Time goes by only when it is told to. */
export class LivedHouse implements AsyncDisposable {
  readonly clock = new PastClock(START);
  readonly events = new EventBus('urn:test', this.clock);
  readonly house = new House({ clock: this.clock, store: new MemoryKeyValueStore(this.clock), events: this.events }, { place: PLACE });
  readonly devices = new MemoryDirectory();
  readonly history: HistoryStore;
  /** When runs of the living automation began, milliseconds since 1970. */
  readonly runs: number[] = [];
  readonly #directory = mkdtempSync(join(tmpdir(), 'atmo-replay-'));
  #plan: AutomationPlan | undefined;
  #record: AgentRecord | undefined;
  #automation: Automation | undefined;
  #recorder: EventRecorder | undefined;
  #replayer: AutomationReplayer | undefined;

  constructor(options: Partial<HistoryStoreOptions> = {}) {
    const directory = this.#directory;
    const services = { clock: this.clock, logger: silentLogger, events: this.events, ...journalParts(directory) };
    this.history = new HistoryStore(services, {
      directory,
      snapshotDirectory: join(directory, 'snapshots'),
      retentionMs: KEEPS_ALL,
      commitEveryMs: DAY_MS,
      ...options,
    });
    this.devices.devices = DEVICES.map((id) => makeDevice(id));
  }

  async start(): Promise<void> {
    await this.history.start();
    await this.house.start();
    for (const id of [TEMPERATURE, LAMP, OCCUPANCY]) this.history.describe(sensorId(id), sensorInfo(id));
    await this.#startHub();
  }

  /** Lets an automation live from now on. */
  live(config: JsonObject): void {
    this.#plan = parseAutomation(config, validator);
    this.#record = {
      ...{ id: 'auto', type: 'automation', name: 'auto', status: 'active', token: 'token', tokenId: '', chain: [], config },
      ...{ permissions: PERMISSIONS, createdAtMs: this.clock.now(), expiresAtMs: Infinity, runs: 0, failures: 0 },
    };
    this.#startAutomation();
  }

  async pass(ms: number): Promise<void> {
    const untilMs = this.clock.now() + ms;
    while (this.clock.nextDueMs() <= untilMs) {
      this.clock.runNext();
      if (this.#automation?.isIdle === false) await settled();
    }
    this.clock.goTo(untilMs);
  }

  async report(sensor: string, value: ReadingValue | null): Promise<void> {
    const atMs = this.clock.now();
    this.history.record(sensorId(sensor), value, atMs);
    await this.emit('sensor.reading', sensor, { value, unit: '°C', kind: 'temperature', at_ms: atMs });
  }

  async reach(device: string, reachability: Reachability): Promise<void> {
    this.#setReachability(device, reachability);
    await this.emit('device.reachability', device, { reachability });
  }

  async emit(type: Parameters<EventBus['emit']>[0], subject: string, data: JsonObject): Promise<void> {
    this.events.emit(type, subject, data);
    await settled();
  }

  /** The hub stops, is off for a while, and starts again. */
  async restart(offMs: number): Promise<void> {
    await this.#automation?.suspend();
    this.#automation = undefined;
    await this.#recorder?.[Symbol.asyncDispose]();
    for (const id of DEVICES) this.#setReachability(id, 'unknown');
    await this.pass(offMs);
    await this.#startHub();
  }

  /** The hub ends at once, is off for a while, and starts again. */
  async crash(offMs: number): Promise<void> {
    this.#recorder = undefined;
    await this.restart(offMs);
  }

  #newReplayer(): AutomationReplayer {
    const check = { ...homePorts(), clock: this.clock, timeZone: TIME_ZONE, readings: this.history, devices: this.devices };
    return new AutomationReplayer({ check, house: this.house, readings: this.history, events: this.history.events });
  }

  replay(config: JsonObject, days = 30) {
    return this.replayWith(config, { days });
  }

  replayWith(config: JsonObject, { signal = AbortSignal.timeout(300_000), days = 30, caller = 'auto' }: ReplayCall) {
    this.#replayer ??= this.#newReplayer();
    const principal = { id: 'auto', kind: 'agent', permissions: PERMISSIONS } as const;
    const viewer = { ...principal, id: caller };
    return this.#replayer.replay(parseAutomation(config, validator), principal, { days, viewer, signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#automation?.stop();
    await this.history[Symbol.asyncDispose]();
    await this.house[Symbol.asyncDispose]();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #startHub(): Promise<void> {
    const { clock, events, history, house } = this;
    this.#recorder = new EventRecorder({ clock, events, house, history: history.events });
    await this.#recorder.start();
    if (this.#record) {
      this.#startAutomation();
      this.#automation?.deliver({ type: 'hub_start' });
    }
    await settled();
    await this.pass(5_000);
    for (const id of DEVICES) await this.reach(id, 'reachable');
  }

  #setReachability(device: string, reachability: Reachability): void {
    this.history.setReachability(parseDeviceId(device), reachability);
    this.devices.devices = this.devices.devices.map((known) => (known.id === device ? { ...known, reachability } : known));
  }

  #startAutomation(): void {
    if (!this.#plan || !this.#record) return;
    const { running, ...rest } = this.#record;
    if (!running?.waiting) this.#record = rest;
    this.#automation = new Automation(this.#ports(), 'auto', this.#plan);
    this.#automation.start();
    if (running?.waiting) this.#automation.resume(running.waiting);
  }

  #ports(): AutomationPorts {
    const { clock, events, history, devices, house } = this;
    const principal = { id: 'auto', kind: 'agent', permissions: PERMISSIONS } as const;
    return {
      ...{ clock, events, devices, house, readings: history, timeZone: TIME_ZONE, logger: silentLogger },
      index: new EventIndex(events),
      time: { isTrusted: () => true },
      tokens: { principalOf: () => principal },
      pipeline: { call: async () => SUCCESS },
      agents: { get: () => this.#record, put: (record) => this.#put(record) },
      canObserveAll: (plan, viewer) => new ObservedByPlan(plan, listAuthorizer).areVisibleTo(viewer),
      rateLimitOf: () => new RunRateLimit(clock, this.#record?.recentRuns),
      tracerOf: (id) => new AutomationTracer({ note: () => {} }, id),
      questions: { get: () => undefined, end: () => undefined, onEnd: () => () => {} },
      onTokenEnded: () => {},
    };
  }

  #put(record: AgentRecord): void {
    const before = this.#record?.running?.runId;
    if (record.running && record.running.runId !== before) this.runs.push(record.running.startedAtMs);
    this.#record = record;
  }
}

const PERMISSIONS = [
  'sensor:read:*',
  'device:*',
  'flag:*',
  'location:read:hub',
  'presence:read',
  'scene:read:*',
  'admin:approvals',
  'admin:agents',
];

const SUCCESS: CallAnswer = {
  id: '',
  request_id: '',
  trace_id: '',
  timestamp: '',
  response_hash: '',
  execution: { node_id: '', duration_ms: 0, hops: 0 },
  status: 'success',
  result: {},
};
