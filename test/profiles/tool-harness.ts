import { GrantAuthorizer } from '../../src/auth/grant-authorizer.ts';
import { NO_GROUPS } from '../../src/core/auth/permission.ts';
import type { Effect, Principal } from '../../src/core/auth/principal.ts';
import type { DeviceDescription } from '../../src/core/devices/device-model.ts';
import type { ReadingStore, ReadingValue, SensorInfo } from '../../src/core/devices/sensor-readings.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { EventBus, type HubEvent } from '../../src/core/events.ts';
import type { SensorId } from '../../src/core/ids.ts';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { silentLogger } from '../../src/core/logger.ts';
import type { KeyValueStore } from '../../src/core/storage/key-value-store.ts';
import { DeviceNameRegistry } from '../../src/profiles/home/device-name-registry.ts';
import { SceneStore } from '../../src/profiles/home/scene-store.ts';
import { areaTool } from '../../src/profiles/tools/area-tool.ts';
import { classTools } from '../../src/profiles/tools/class-tools.ts';
import { controlMatterDevice, MATTER_COMMAND_ALIAS } from '../../src/profiles/tools/control-matter-device.ts';
import { DeviceScenes } from '../../src/profiles/tools/device-scenes.ts';
import { DeviceToolSync } from '../../src/profiles/tools/device-tool-sync.ts';
import { registerSceneTools } from '../../src/profiles/tools/scene-run.ts';
import { sceneTools } from '../../src/profiles/tools/scene-tools.ts';
import type { CallerRights, ToolContext } from '../../src/tools/definition/tool-definition.ts';
import { callerView, requiredPermissions } from '../../src/tools/definition/tool-permissions.ts';
import { StoredHomeNames } from '../../src/tools/names/home-names.ts';
import { deviceNames } from '../../src/tools/names/resolve-names.ts';
import { emitToolChanges, ToolRegistry } from '../../src/tools/registry/tool-registry.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';
import { NO_REMOTE_GROUPS } from '../no-device-facts.ts';
import { profiles } from './device-fixtures.ts';
import { FakeHome } from './fake-home.ts';

const SOMEBODY: Principal = { id: 'test', kind: 'agent', permissions: ['*'] };

/** A reading store that keeps what it is told in two maps. */
class FakeReadings implements ReadingStore {
  readonly infos = new Map<SensorId, SensorInfo>();
  readonly values = new Map<string, ReadingValue | null>();
  readonly reachability = new Map<string, string>();

  describe(id: SensorId, info: SensorInfo | null): void {
    if (info) this.infos.set(id, info);
    else this.infos.delete(id);
  }

  record(id: SensorId, value: ReadingValue | null): void {
    this.values.set(id, value);
  }

  setReachability(device: string, reachability: string): void {
    this.reachability.set(device, reachability);
  }

  sensors = () => [];
  current = () => undefined;
  history = () => [];
}

interface HarnessAnswer {
  readonly result: Json;
  readonly effects: readonly Effect[];
}

/** A hub's tool side over a fake home: registry, device tools, class tools and the generic tool. */
export class ToolHarness {
  readonly home: FakeHome;
  readonly clock = new ManualClock();
  readonly readings = new FakeReadings();
  readonly events: HubEvent[] = [];
  readonly validator = new SchemaValidator();
  readonly registry = new ToolRegistry({ validator: this.validator }, { onWarning: 'error' });
  readonly store: KeyValueStore;
  readonly deviceNames: DeviceNameRegistry;
  readonly sync: DeviceToolSync;
  readonly homeNames: StoredHomeNames;
  /** Aborts the calls that run. */
  readonly abort = new AbortController();
  readonly authorizer = new GrantAuthorizer({ groups: NO_GROUPS, elsewhere: NO_REMOTE_GROUPS, validity: { isStillValid: () => true } });

  constructor(...descriptions: readonly DeviceDescription[]);
  /** A hub that starts over the state directory of another one. */
  constructor(state: KeyValueStore, ...descriptions: readonly DeviceDescription[]);
  constructor(...given: readonly (KeyValueStore | DeviceDescription)[]) {
    const descriptions = given.filter((one): one is DeviceDescription => 'endpoints' in one);
    this.store = given.find((one): one is KeyValueStore => !('endpoints' in one)) ?? new MemoryKeyValueStore(this.clock);
    this.deviceNames = new DeviceNameRegistry(this.store);
    this.homeNames = new StoredHomeNames(this.store);
    this.home = new FakeHome(...descriptions);
    const bus = new EventBus('test', this.clock);
    bus.listen((event) => this.events.push(event));
    const { home, registry, readings, clock } = this;
    emitToolChanges(registry, bus);
    this.sync = new DeviceToolSync({
      directory: home,
      access: home,
      registry,
      readings,
      events: bus,
      profiles,
      names: this.deviceNames,
      clock,
      logger: silentLogger,
    });
  }

  async start(): Promise<this> {
    const { home, validator } = this;
    const names = deviceNames(() => home.list());
    const { homeNames: areas, authorizer } = this;
    const ports = { devices: this.sync, names, access: home, validator, profiles };
    const members = { devices: this.sync, names, access: home, validator, directory: home, areas, authorizer };
    const scenes = {
      devices: this.sync,
      names,
      access: home,
      validator,
      directory: home,
      areas,
      authorizer,
      scenes: new SceneStore(this.store),
      events: { emit: () => {} },
      deviceScenes: new DeviceScenes({ store: this.store, access: home }),
    };
    for (const tool of [...classTools(ports), areaTool(members), ...sceneTools(scenes), controlMatterDevice(ports)])
      this.registry.register(tool);
    this.registry.alias(MATTER_COMMAND_ALIAS, 'matter:control_matter_device');
    await this.sync.start();
    this.sync.open();
    registerSceneTools(scenes, { registry: this.registry, logger: silentLogger });
    return this;
  }

  names(): readonly string[] {
    return this.registry.list({ limit: 500 }).tools.map((tool) => `${tool.definition.namespace}:${tool.definition.name}`);
  }

  /** What the call pipeline does with a tool, without asking whether the caller may. */
  async call(name: string, given: JsonObject = {}, caller: CallerRights = callerView(SOMEBODY, this.authorizer)): Promise<HarnessAnswer> {
    return this.run(this.prepare(name, given, caller), SOMEBODY);
  }

  /** What the call pipeline does with a tool for an agent with these grants. */
  async callAs(permissions: readonly string[], name: string, given: JsonObject = {}): Promise<HarnessAnswer> {
    const principal: Principal = { id: 'agent', kind: 'agent', permissions };
    const prepared = this.prepare(name, given, callerView(principal, this.authorizer));
    const { tool, params, effects } = prepared;
    const required = [...requiredPermissions(tool, params), ...effects.map(({ permission }) => permission)];
    const decision = this.authorizer.authorize(principal, required);
    if (!decision.allowed) throw new AtmoError('PERMISSION_DENIED', decision.reason, { required: decision.required });
    return this.run(prepared, principal);
  }

  /** Checks a call as the pipeline does, up to its effects. */
  prepare(name: string, given: JsonObject, caller: CallerRights = callerView(SOMEBODY, this.authorizer)) {
    const tool = this.registry.resolve(name);
    const checked = this.validator.parameters(tool.definition.parameters, given);
    const params = tool.canonicalize?.(checked, caller) ?? checked;
    return { tool, params, effects: tool.effects?.(params) ?? [] };
  }

  /** Runs a call that `prepare` has returned. */
  async run({ tool, params, effects }: ReturnType<ToolHarness['prepare']>, principal: Principal = SOMEBODY): Promise<HarnessAnswer> {
    const result = await tool.handler(params, this.#context(principal));
    const answer = this.validator.check(tool.definition.returns, result);
    return { result: answer.isValid ? result : { invalid: JSON.stringify(answer.problems) }, effects };
  }

  #context(principal: Principal): ToolContext {
    return {
      agentId: 'test',
      principal,
      sessionId: '',
      traceId: '',
      requestId: '',
      permissions: [],
      nodeId: 'test',
      signal: this.abort.signal,
      deadlineMs: Number.MAX_SAFE_INTEGER,
      clock: this.clock,
      run: { runId: 'run', logicalTimeMs: 0, randomSeed: '' },
      random: () => 0.5,
      logger: silentLogger,
      progress: () => {},
      confirm: () => {},
      allows: () => true,
      ask: async () => ({ action: 'cancel' }),
      tell: () => {},
      contentType: () => {},
      details: () => {},
    };
  }
}
