import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { GrantAuthorizer } from './access/grant-authorizer.ts';
import { OwnerApprovals } from './access/owner-approvals.ts';
import { OwnerAuthenticator } from './access/owner-authenticator.ts';
import { OwnerCredential } from './access/owner-credential.ts';
import type { HubConfig } from './config.ts';
import type { Clock } from './core/clock.ts';
import type { DeviceRoom } from './core/device-room.ts';
import { EventBus } from './core/events.ts';
import type { JsonObject } from './core/json.ts';
import type { Logger } from './core/logger.ts';
import { NO_DEVICES } from './core/no-devices.ts';
import { NO_GROUPS } from './core/permission.ts';
import { type Service, ServiceStack } from './core/service.ts';
import { HttpGateway } from './gateway/http-gateway.ts';
import { MetricRegistry } from './gateway/metrics.ts';
import type { HealthReport } from './gateway/ports.ts';
import { HistoryStore } from './journal/history-store.ts';
import { prepareStateDirectory } from './journal/state-directory.ts';
import { StateLock } from './journal/state-lock.ts';
import { StateStore } from './journal/state-store.ts';
import { classTools } from './profiles/class-tools/class-tools.ts';
import { controlMatterDevice, MATTER_COMMAND_ALIAS } from './profiles/control-matter-device.ts';
import { DeviceToolSync } from './profiles/device-tool-sync.ts';
import { loadProfiles } from './profiles/load-profiles.ts';
import { NodeBounds } from './profiles/node-bounds.ts';
import { basicTools } from './tools/builtin/basic-tools.ts';
import { deviceAdminTools } from './tools/builtin/device-admin-tools.ts';
import { jobTools } from './tools/builtin/job-tools.ts';
import { sensorTools } from './tools/builtin/sensor-tools.ts';
import { thermalTool } from './tools/builtin/thermal-tool.ts';
import { CallPipeline } from './tools/call-pipeline.ts';
import { type Capability, CapabilityCatalogue } from './tools/capability-catalogue.ts';
import { IdempotencyStore } from './tools/idempotency-store.ts';
import { JobStore } from './tools/job-store.ts';
import { deviceNames } from './tools/resolve-device.ts';
import { SchemaValidator } from './tools/schema-validator.ts';
import type { RegisteredTool } from './tools/tool-definition.ts';
import { loadManifest } from './tools/tool-manifest.ts';
import { ToolRegistry } from './tools/tool-registry.ts';
import { lexicalSearch } from './tools/tool-search.ts';

const DAY_MS = 86_400_000;
const DRAIN_MS = 10_000;
const PROFILES = join(import.meta.dirname, '../device-profiles');

/** What `source: builtin:<module>` of a tool manifest may name. */
const MANIFEST_BUILTINS = new Map([['thermal', (name: string, config: JsonObject) => thermalTool(name, config)]]);

interface HubOptions {
  readonly config: HubConfig;
  readonly version: string;
}

/** What stands before any tool or device does. */
interface Ground {
  readonly hubId: string;
  readonly events: EventBus;
  readonly store: StateStore;
  readonly readings: HistoryStore;
  readonly credential: OwnerCredential;
  readonly authenticator: OwnerAuthenticator;
  readonly matterDir: string;
}

/** Tools, and the one way to them. */
interface Workshop {
  readonly registry: ToolRegistry;
  readonly validator: SchemaValidator;
  readonly jobs: JobStore;
  readonly capabilities: CapabilityCatalogue;
  readonly pipeline: CallPipeline;
  readonly authorizer: GrantAuthorizer;
}

/** One running hub: makes every part, hands each its collaborators, starts them in order and stops them in reverse. */
export class Hub implements Service {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #config: HubConfig;
  readonly #stack = new ServiceStack();
  #health: HealthReport;
  #room: DeviceRoom | undefined;
  #pipeline: CallPipeline | undefined;
  #gateway: HttpGateway | undefined;

  constructor(collaborators: { readonly clock: Clock; readonly logger: Logger }, options: HubOptions) {
    this.#clock = collaborators.clock;
    this.#logger = collaborators.logger;
    this.#config = options.config;
    this.#health = { status: 'starting', nodeId: '', version: options.version, startedAtMs: 0, problems: [] };
  }

  /** Where the hub answers, once started. */
  get url(): string {
    return this.#gateway?.url ?? '';
  }

  /** CONFIG_INVALID, CONFLICT (another hub has the state directory) or STORAGE_FAILED; nothing runs on after a failure. */
  async start(): Promise<void> {
    try {
      await this.#startParts();
    } catch (error) {
      await this.#stack[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #startParts(): Promise<void> {
    const ground = await this.#layGround();
    this.#health = { ...this.#health, nodeId: ground.hubId, startedAtMs: this.#clock.now() };
    const workshop = this.#openWorkshop(ground);
    this.#registerAll(workshop.registry, [...basicTools, ...jobTools(workshop.jobs), ...sensorTools(ground.readings)]);
    if (this.#config.matter.isEnabled) await this.#admitDevices(ground, workshop);
    await this.#loadOwnTools(workshop.registry);
    await this.#openDoor(ground, workshop);
    this.#health = { ...this.#health, status: 'ok' };
  }

  /** Takes no new calls, lets running ones end, then stops everything in reverse. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#health = { ...this.#health, status: 'stopping' };
    const isDrained = await this.#pipeline?.drain(DRAIN_MS);
    if (isDrained === false) this.#logger.warn('hub.not_drained', { waited_ms: DRAIN_MS });
    await this.#stack[Symbol.asyncDispose]();
  }

  async #layGround(): Promise<Ground> {
    const directory = prepareStateDirectory(this.#config.stateDir, this.#logger);
    await this.#stack.start(new StateLock(directory.root));
    const events = new EventBus('atmosphere-edge', this.#clock);
    const journal = { clock: this.#clock, logger: this.#logger, events };
    const places = { directory: directory.root, snapshotDirectory: directory.snapshots };
    const store = new StateStore(journal, places);
    await this.#stack.start(store);
    const { rawDays, fiveMinuteDays, hourlyDays } = this.#config.history;
    const retentionMs = { raw: rawDays * DAY_MS, '5min': fiveMinuteDays * DAY_MS, '1h': hourlyDays * DAY_MS };
    const readings = new HistoryStore(journal, { ...places, retentionMs });
    await this.#stack.start(readings);
    const credential = new OwnerCredential(directory.root);
    await this.#stack.start(credential);
    return {
      hubId: hubIdOf(store),
      events,
      store,
      readings,
      credential,
      authenticator: new OwnerAuthenticator(credential),
      matterDir: directory.matter,
    };
  }

  #openWorkshop({ hubId, events, store, authenticator }: Ground): Workshop {
    const validator = new SchemaValidator();
    const registry = new ToolRegistry({ validator });
    const jobs = new JobStore({ store, clock: this.#clock, events });
    jobs.recover();
    const capabilities = new CapabilityCatalogue(registry);
    for (const [type, description] of OWN_CAPABILITIES) capabilities.add({ type, description: () => description });
    const authorizer = new GrantAuthorizer({ groups: NO_GROUPS, validity: authenticator });
    const { disabled, maxConcurrent, maxQueued } = this.#config.tools;
    this.#pipeline = new CallPipeline(
      {
        registry,
        validator,
        authorizer,
        clock: this.#clock,
        logger: this.#logger,
        events,
        nodeId: hubId,
        capabilities: () => capabilities.types(),
        jobs,
        idempotency: new IdempotencyStore({ store }),
        approvals: new OwnerApprovals(),
      },
      { maxConcurrent, maxQueued, disabledTools: disabled },
    );
    return { registry, validator, jobs, capabilities, pipeline: this.#pipeline, authorizer };
  }

  async #admitDevices(ground: Ground, { registry, validator, capabilities }: Workshop): Promise<void> {
    const room = await this.#openMatter(ground);
    this.#room = room;
    const { directory, access, administration } = room;
    const profiles = loadProfiles(PROFILES, { own: this.#config.profilesDir });
    const { readings, events } = ground;
    const sync = new DeviceToolSync({ clock: this.#clock, logger: this.#logger, directory, access, registry, profiles, readings, events });
    const names = deviceNames(() => directory.list());
    const ports = { devices: sync, names, access, validator };
    this.#registerAll(registry, [
      ...deviceAdminTools({
        administration,
        devices: names,
        bounds: new NodeBounds(directory, sync),
        riskOf: (cluster, command) => profiles.riskOf(cluster, command),
      }),
      ...classTools(ports),
      controlMatterDevice({ ...ports, profiles }),
    ]);
    registry.alias(MATTER_COMMAND_ALIAS, 'matter:control_matter_device');
    for (const capability of deviceCapabilities(() => directory.list().length)) capabilities.add(capability);
    await this.#stack.start(sync);
    await this.#stack.start(room);
  }

  /** Loaded on demand: a hub without devices is 100 MB smaller. */
  async #openMatter({ store, matterDir }: Ground): Promise<DeviceRoom> {
    const { openMatterRoom } = await import('./matter/open-matter-room.ts');
    const collaborators = { clock: this.#clock, logger: this.#logger.child({ room: 'matter' }), store };
    return openMatterRoom(collaborators, { stateDir: matterDir, ...this.#config.matter });
  }

  async #loadOwnTools(registry: ToolRegistry): Promise<void> {
    const { manifestFile, plugins } = this.#config.tools;
    if (existsSync(manifestFile))
      this.#registerAll(registry, await loadManifest(manifestFile, { builtins: MANIFEST_BUILTINS, allowedPlugins: plugins }));
  }

  async #openDoor({ authenticator, events, readings }: Ground, workshop: Workshop): Promise<void> {
    this.#gateway = new HttpGateway(
      {
        ...workshop,
        search: lexicalSearch,
        directory: this.#room?.directory ?? NO_DEVICES,
        readings,
        events,
        authenticator,
        metrics: new MetricRegistry(),
        health: { health: () => this.#health },
        logger: this.#logger,
        clock: this.#clock,
      },
      this.#config.http,
    );
    await this.#stack.start(this.#gateway);
  }

  #registerAll(registry: ToolRegistry, tools: readonly RegisteredTool[]): void {
    for (const tool of tools) registry.register(tool);
  }
}

/** What every hub has (source 000 §5, requires). */
const OWN_CAPABILITIES = [['sensor_access', 'Readings of the sensors of this home, now and over time']] as const;

/** What comes with a Matter fabric (source 000 §7, bridge capability). */
function deviceCapabilities(count: () => number): readonly Capability[] {
  const some = (what: string) => () => `${what} of a Matter/Thread bridge with ${count()} devices`;
  return [
    { type: 'matter_bridge', description: () => `Matter/Thread bridge with ${count()} devices`, hasDevices: true },
    { type: 'device_control', description: some('Devices') },
    { type: 'light_control', description: some('Lights') },
    { type: 'thermostat_control', description: some('Thermostats') },
  ];
}

/** Made once and kept; members of a mesh take over the id of their key. */
function hubIdOf(store: StateStore): string {
  const kept = store.get('hub', 'id');
  if (typeof kept === 'string') return kept;
  const fresh = `hub-${randomBytes(8).toString('hex')}`;
  store.set('hub', 'id', fresh);
  return fresh;
}
