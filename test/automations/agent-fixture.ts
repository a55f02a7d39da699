import { GrantAuthorizer } from '../../src/auth/grant-authorizer.ts';
import { TokenRateLimiter } from '../../src/auth/tokens/token-rate-limiter.ts';
import { AgentRunner } from '../../src/automations/agent-runner.ts';
import { agentTools } from '../../src/automations/agent-tools.ts';
import { type CheckPorts, NO_DEVICE_VALUES } from '../../src/automations/automation-ports.ts';
import { checkAutomationTool } from '../../src/automations/check/check-tools.ts';
import { HomeThings } from '../../src/automations/home-things.ts';
import { flagTools } from '../../src/automations/house/flag-tools.ts';
import { House, type Place } from '../../src/automations/house/house.ts';
import { presenceTools } from '../../src/automations/house/presence-tools.ts';
import { convertAutomationTool } from '../../src/automations/plan/convert-tool.ts';
import { ProposalStore } from '../../src/automations/proposals/proposal-store.ts';
import { proposalTools } from '../../src/automations/proposals/proposal-tools.ts';
import { Proposals } from '../../src/automations/proposals/proposals.ts';
import { AutomationReplayer } from '../../src/automations/replay/automation-replay.ts';
import { replayAutomationTool } from '../../src/automations/replay/replay-tool.ts';
import { explainAutomationTool } from '../../src/automations/traces/explain-tool.ts';
import { TraceLog } from '../../src/automations/traces/trace-log.ts';
import { versionTools } from '../../src/automations/versions/version-tools.ts';
import { IdempotencyStore } from '../../src/calls/idempotency-store.ts';
import type { PipelineCollaborators } from '../../src/calls/pipeline-context.ts';
import type { CallAnswer } from '../../src/calls/request-and-answer.ts';
import type { ApprovalQueue } from '../../src/core/auth/approvals.ts';
import type { Person } from '../../src/core/auth/people.ts';
import { NO_GROUPS } from '../../src/core/auth/permission.ts';
import type { Principal } from '../../src/core/auth/principal.ts';
import type { Reachability } from '../../src/core/devices/device-model.ts';
import { NO_HOME_NAMES } from '../../src/core/devices/device-names.ts';
import type { HistoryPoint, HistoryQuery, ReadingStore, ReadingValue } from '../../src/core/devices/sensor-readings.ts';
import type { DeviceId, SensorId } from '../../src/core/ids.ts';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { EventHistory } from '../../src/core/storage/event-history.ts';
import { CurrentReadings } from '../../src/storage/history/history-store.ts';
import { tokenServices } from '../auth/tokens/token-fixture.ts';
import { makePipeline, makeTool, NO_OTHERS, owner, settled } from '../calls/pipeline-fixture.ts';
import { MemoryDirectory, makeDevice } from '../http/http-fixture.ts';
import type { ManualClock } from '../manual-clock.ts';
import type { MemoryKeyValueStore } from '../memory-key-value-store.ts';
import { MemoryTraceRows } from '../memory-trace-rows.ts';
import { NO_DEVICE_FACTS, NO_REMOTE_GROUPS } from '../no-device-facts.ts';
import { questionFixture } from '../notices/question-fixture.ts';

export const SENSOR = 'hall-sensor/temperature';
/** What an automation needs that watches the sensor and switches the lamp. */
export const ENOUGH = [`sensor:read:${SENSOR}`, 'device:control:lamp'];
export const LAMP_ON = { tool: 'matter:lamp_turn_on' };
export const WHEN_HOT: JsonObject = { trigger: { type: 'reading', sensor_id: SENSOR, above: 25 }, actions: [LAMP_ON], cooldown_seconds: 0 };

/** The readings that were reported, as the history answers for them. */
export class MemoryHistory {
  readonly #points: { readonly sensor: SensorId; readonly value: ReadingValue; readonly atMs: number }[] = [];

  record(sensor: SensorId, value: ReadingValue | null, atMs: number): void {
    if (value !== null) this.#points.push({ sensor, value, atMs });
  }

  read({ sensor, startMs, endMs, limit = 10_000 }: HistoryQuery): readonly HistoryPoint[] {
    const found = this.#points.filter((point) => point.sensor === sensor && point.atMs >= startMs && point.atMs <= endMs).slice(-limit);
    return found.map(({ atMs, value }) => ({ atMs, value: typeof value === 'boolean' ? Number(value) : value }));
  }
}

const OWNER_PERSON: Person = { name: 'owner', title: 'Owner', role: 'owner', limits: {} };
const PEOPLE: readonly Person[] = [
  { name: 'ann', title: 'Ann', role: 'adult', limits: {} },
  { name: 'ben', title: 'Ben', role: 'adult', limits: {} },
];

/** A history in which nothing was kept. */
const NO_EVENTS: EventHistory = {
  begin: () => {},
  note: () => {},
  between: () => [],
  firstOfEach: () => [],
  lastOfEach: () => [],
  sinceMs: () => undefined,
  newestMs: () => undefined,
};

interface FixtureOptions {
  readonly clock?: ManualClock;
  readonly store?: MemoryKeyValueStore;
  readonly traceRows?: MemoryTraceRows;
  readonly history?: MemoryHistory;
  readonly hub?: Awaited<ReturnType<typeof tokenServices>>['hub'];
  readonly approvals?: ApprovalQueue;
  readonly rules?: PipelineCollaborators['rules'];
  readonly timeZone?: string;
  readonly place?: Place;
  readonly isTimeTrusted?: () => boolean;
}

interface LampCall {
  readonly tool: string;
  readonly agent: string;
  readonly params: JsonObject;
  readonly traceId: string;
  readonly sessionId: string;
}

/** A hub with agents, real tokens and a real pipeline, a sensor and a lamp, in memory. What it keeps can go into the next one. */
export async function agentFixture({
  approvals,
  rules,
  timeZone = 'UTC',
  place,
  isTimeTrusted = () => true,
  traceRows = new MemoryTraceRows(),
  history = new MemoryHistory(),
  ...kept
}: FixtureOptions = {}) {
  const tokens = await tokenServices(kept);
  const { clock, store, events, hub, issuer, verifier } = tokens;
  const authorizer = new GrantAuthorizer({
    groups: NO_GROUPS,
    elsewhere: NO_REMOTE_GROUPS,
    validity: { isStillValid: (principal) => verifier.isStillValid(principal) },
  });
  const fixture = makePipeline({
    clock,
    events,
    authorizer,
    capabilities: () => ['agent_runtime'],
    idempotency: new IdempotencyStore({ store, clock, hasLostState: false }),
    ...(approvals && { approvals }),
    ...(rules && { rules }),
  });
  const readings = new CurrentReadings();
  const devices = new MemoryDirectory();
  devices.devices = [makeDevice('lamp'), makeDevice('hall-sensor'), makeDevice('switch')];
  const house = new House({ clock, store, events }, { place });
  await house.start();
  const limited = (burst: number, perSecond: number) => new TokenRateLimiter(clock, { fixedRate: { burst, perSecond } });
  const asked = questionFixture({ clock, store, events, people: PEOPLE, nameOf: (id) => runner.directory.nameOf(id) });
  await asked.questions.start();
  const scenes: { readonly id: string; readonly name: string }[] = [];
  const things = new HomeThings({
    devices,
    readings: { current: (one) => readings.get(one), sensors: () => readings.list() },
    names: NO_HOME_NAMES,
    scenes: {
      get: (one) => scenes.find((scene) => scene.id === one),
      find: (text) => scenes.find((scene) => scene.id === text || scene.name === text),
    },
  });
  const traces = new TraceLog({ rows: traceRows, clock, logger: silentLogger, time: { isTrusted: isTimeTrusted } });
  await traces.start();
  const people = {
    find: (name: string) => PEOPLE.find((person) => person.name === name),
    list: () => PEOPLE,
    personOf: ({ id, kind }: Principal) => (kind === 'owner' ? OWNER_PERSON : PEOPLE.find(({ name }) => name === id)),
  };
  const runner: AgentRunner = new AgentRunner({
    people,
    edits: limited(30, 1 / 60),
    things,
    house,
    questions: asked.questions,
    traces,
    timeZone,
    ...{ clock, store, events, authorizer, devices, logger: silentLogger, tokens: issuer },
    ...{ registry: fixture.tools, validator: fixture.validator, pipeline: fixture.pipeline },
    readings: { current: (id: SensorId) => readings.get(id) } as ReadingStore,
    time: { isTrusted: isTimeTrusted },
    mesh: NO_OTHERS,
  });
  const check: CheckPorts = {
    clock,
    timeZone,
    authorizer,
    devices,
    mesh: NO_OTHERS,
    registry: fixture.tools,
    validator: fixture.validator,
    readings: { current: (id) => readings.get(id) },
    facts: NO_DEVICE_FACTS,
    values: NO_DEVICE_VALUES,
    house,
    rules: {
      list: () => ({ file: '', timezone: timeZone, default: 'allow', rules: [] }),
      test: () => ({ verdict: { kind: 'allow' }, effects: [] }),
    },
  };
  const ports = {
    agents: runner.directory,
    registry: fixture.tools,
    things,
    authorizer,
    validator: fixture.validator,
    check,
    logger: silentLogger,
  };
  const replay = { check, house, readings: { past: () => [] }, events: NO_EVENTS };
  const proposals = new Proposals({ store: new ProposalStore(store, clock), runner, people, events, ports });
  const tools = [
    ...agentTools(runner, ports),
    checkAutomationTool(ports),
    replayAutomationTool({ replayer: new AutomationReplayer(replay), limiter: limited(6, 0.1), tools: ports }),
    ...versionTools(runner, ports),
    convertAutomationTool(ports, limited(20, 1)),
    ...proposalTools({ proposals, tools: ports }),
    explainAutomationTool(runner, {
      ...check,
      traces,
      house,
      readings: { current: (one) => readings.get(one), history: (query) => history.read(query) },
    }),
    ...asked.tools,
  ];
  for (const tool of [...tools, ...flagTools(house.flags, authorizer), ...presenceTools(house.presences, people)]) {
    fixture.registry.register(tool);
  }

  const calls: LampCall[] = [];
  let lampHandler: (params: JsonObject) => Promise<Json> = async () => ({ ok: true });
  const addLampTool = (name: string, extra: JsonObject = {}) =>
    fixture.registry.register(
      makeTool({
        name,
        namespace: 'matter',
        requires: { permissions: ['device:control:lamp'] },
        parameters: { type: 'object', properties: { level: { type: 'number', description: 'Level', 'x-unit': '%' } } },
        execution: { side_effects: true },
        ...extra,
        handler: async (params, context) => {
          calls.push({ tool: name, agent: context.agentId, params, traceId: context.traceId, sessionId: context.sessionId });
          return lampHandler(params);
        },
      }),
    );
  addLampTool('lamp_turn_on');
  addLampTool('lamp_unlock', { metadata: { dangerous: true } });

  const id = SENSOR as SensorId;
  const sensorDevice = 'hall-sensor' as DeviceId;
  readings.describe(id, { id, device: sensorDevice, name: 'temperature', kind: 'temperature', unit: '°C', title: 'Hall temperature' });
  readings.setReachability(sensorDevice, 'reachable');
  const spawned: Principal = owner;
  const call = (tool: string, params: JsonObject = {}, principal: Principal = spawned): Promise<CallAnswer> =>
    fixture.pipeline.call({ principal, tool, params });
  return {
    ...{
      ...fixture,
      clock,
      store,
      events,
      hub,
      heard: tokens.heard,
      issuer,
      authorizer,
      readings,
      devices,
      scenes,
      things,
      house,
      runner,
      calls,
      call,
    },
    ...{ traceRows, traces, history },
    ...{ questions: asked.questions, notices: asked.notices },
    onLamp: (handler: typeof lampHandler) => {
      lampHandler = handler;
    },
    /** The sensor reports a value, as the hub emits it. */
    report: async (value: ReadingValue | null, { ageMs = 0 } = {}) => {
      const atMs = clock.now() - ageMs;
      readings.record(id, value, atMs);
      history.record(id, value, atMs);
      events.emit('sensor.reading', SENSOR, { value, unit: '°C', kind: 'temperature', at_ms: atMs });
      await settled();
    },
    reach: async (device: string, reachability: Reachability) => {
      readings.setReachability(device as DeviceId, reachability);
      devices.devices = devices.devices.map((known) => (known.id === device ? { ...known, reachability } : known));
      events.emit('device.reachability', device, { reachability });
      await settled();
    },
    /** Time goes by, and what falls due runs to its end. */
    pass: async (seconds: number) => {
      clock.advance(seconds * 1000);
      await settled();
    },
    /** A token of its own, from the owner. */
    agentWith: (name: string, permissions: readonly string[], ttlMs = 3_600_000) =>
      issuer.issue({ agentId: name, permissions, ttlMs }, owner).principal,
    /** The same a minute at a time, so that each call still meets its own deadline. */
    passMinutes: async (minutes: number) => {
      for (let minute = 0; minute < minutes; minute++) {
        clock.advance(60_000);
        await settled();
      }
    },
    spawn: async (config: JsonObject, extra: JsonObject = {}, principal: Principal = owner) => {
      const answer = await call(
        'spawn_agent',
        { agent_type: 'automation', name: 'auto', config, permissions: ENOUGH, ...extra },
        principal,
      );
      await settled();
      return answer;
    },
    /** The agent as the owner sees it in the list. */
    view: async (agentId: string): Promise<JsonObject> => {
      const answer = await call('list_agents');
      const agents = (answer.status === 'success' ? (answer.result as JsonObject).agents : []) as readonly JsonObject[];
      return agents.find((agent) => agent.agent_id === agentId) ?? {};
    },
  };
}
export type AgentFixture = Awaited<ReturnType<typeof agentFixture>>;

/** A fixture whose runner has started. */
export async function startedFixture(options: FixtureOptions = {}): Promise<AgentFixture> {
  const fixture = await agentFixture(options);
  await fixture.runner.start();
  return fixture;
}

/** The hub after a restart; `before` was stopped, or killed when it was not. */
export function restarted({ clock, store, hub, traceRows, history }: AgentFixture, options: FixtureOptions = {}): Promise<AgentFixture> {
  return startedFixture({ clock, store, hub, traceRows: traceRows.copy(), history, ...options });
}

export function codeOf(answer: CallAnswer): string {
  return answer.status === 'error' ? answer.error.code : 'success';
}

export function resultOf(answer: CallAnswer): JsonObject {
  return answer.status === 'success' ? (answer.result as JsonObject) : { error: { ...answer.error } };
}
