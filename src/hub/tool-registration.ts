import { OWNER } from '../auth/owner-token.ts';
import { registrationTools } from '../calls/builtin/registration-tools.ts';
import { SeedDiscovery } from '../calls/registration/seed-discovery.ts';
import { ToolRecordStore } from '../calls/registration/tool-record.ts';
import { ToolRegistrar } from '../calls/registration/tool-registrar.ts';
import { ScriptWorkerPool } from '../connectors/sandbox/script-worker-pool.ts';
import type { Clock } from '../core/clock.ts';
import type { EventBus } from '../core/events.ts';
import { type AcceptedText, acceptedTextsInStore } from '../core/files/owner-file.ts';
import type { HubProblems } from '../core/health.ts';
import type { JsonObject } from '../core/json.ts';
import type { ServiceStack } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import type { DeviceNameRegistry } from '../profiles/home/device-name-registry.ts';
import { basicTools } from '../tools/builtin/basic-tools.ts';
import { boardParts, probeBoard, thermalTool, toolsOfBoard } from '../tools/builtin/board-tools.ts';
import { type RecordFile, ReservedNames, readFirstRecordFile, type SkippedRecord } from '../tools/manifest/record-file.ts';
import { loadManifest, type Manifest } from '../tools/manifest/tool-manifest.ts';
import type { ProgramSandbox } from '../tools/programs/program-sandbox.ts';
import type { ToolRegistry } from '../tools/registry/tool-registry.ts';
import type { Auth } from './auth.ts';
import type { HubConfig } from './config/config.ts';
import type { ToolServices } from './tool-services.ts';

/** What `source: builtin:<module>` of a tool manifest may name. */
const MANIFEST_BUILTINS = new Map([['thermal', (name: string, config: JsonObject) => thermalTool(name, config)]]);

/** What registered tools are made from. */
export interface RegistrationCollaborators {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventBus;
  readonly problems: Pick<HubProblems, 'raise' | 'clear'>;
  readonly store: KeyValueStore;
  readonly access: Auth;
  readonly deviceNames: Pick<DeviceNameRegistry, 'holderOf'>;
}

interface RegistrationOptions {
  readonly config: HubConfig;
  /** Where the programs of tools run. */
  readonly programs: ProgramSandbox;
  readonly stack: ServiceStack;
}

/**
 * Registers the owner's own tools, what the hub starts with, what was registered before it stopped, and the tools that register
 * more. A mistake in a file of the owner costs the tool that it is about, and is reported.
 */
export async function openRegistration(
  ground: RegistrationCollaborators,
  workshop: ToolServices,
  { config: { tools, sensors, stateDir }, programs, stack }: RegistrationOptions,
): Promise<ToolRegistrar> {
  const report = reportTo(ground);
  const reserved = new ReservedNames();
  const takenOf = acceptedTextsInStore(ground.store, stateDir);
  await loadOwnTools(ground, workshop.registry, { tools, programs, takenOf, report, reserved });
  const { access, deviceNames } = ground;
  const isClaimed = (name: string) => deviceNames.holderOf(name) !== undefined;
  const records = new ToolRecordStore(ground);
  const isReserved = (name: string) => reserved.has(name);
  const registrar = new ToolRegistrar(
    {
      registry: workshop.registry,
      tools: workshop.tools,
      validator: workshop.validator,
      authorizer: access.authorizer,
      records,
      pipeline: workshop.pipeline,
      clock: ground.clock,
      logger: ground.logger,
      isClaimed,
      isReserved,
      programs,
    },
    tools.allowedPermissions ? { allowed: tools.allowedPermissions } : {},
  );
  const seed = new SeedDiscovery({
    registry: workshop.registry,
    registrar,
    nucleus: [...basicTools, ...toolsOfBoard(workshop.registry.all())],
    probe: () => probeBoard(sensors.sysfs),
    parts: () => boardParts(),
    bootstrap: () => {
      const file = readFirstRecordFile(tools.bootstrapFiles, { takenOf });
      warnOfStaleFile(ground, 'tools to start with', file);
      return file;
    },
    report,
    reserved,
    owner: OWNER,
  });
  stack.own(seed);
  for (const tool of registrationTools({
    registrar,
    discover: () => seed.discover(),
    obstacleTo: (tool) => workshop.pipeline.obstacleTo(tool),
  }))
    workshop.registry.register(tool);
  await seed.discover();
  registrar.restore();
  return registrar;
}

interface OwnTools {
  readonly tools: HubConfig['tools'];
  readonly programs: ProgramSandbox;
  readonly takenOf: (path: string) => AcceptedText;
  readonly report: Report;
  readonly reserved: ReservedNames;
}

/** Registers the tools of the manifest; what it cannot have is left out and reported. */
async function loadOwnTools(
  ground: RegistrationCollaborators,
  registry: ToolRegistry,
  { tools: { manifestFile, plugins }, programs, takenOf, report, reserved }: OwnTools,
): Promise<void> {
  const { clock } = ground;
  const sources = { builtins: MANIFEST_BUILTINS, allowedPlugins: plugins, programs, scripts: new ScriptWorkerPool({ clock }), takenOf };
  const { leftOut, changedPlugins, records, ...file } = await loadManifest(manifestFile, sources, (tool) => registry.register(tool));
  warnOfStaleFile(ground, 'manifest of tools', file);
  reserved.reserve('manifest', records);
  for (const plugin of changedPlugins) warnOfChangedPlugin(ground, plugin);
  report(leftOut);
}

/** Tells the owner that a file does not count, and what was taken of it last does. */
function warnOfStaleFile(
  { logger, events, problems }: Pick<RegistrationCollaborators, 'logger' | 'events' | 'problems'>,
  subject: string,
  { stale }: Pick<RecordFile, 'stale'>,
): void {
  if (!stale) {
    problems.clear(subject);
    return;
  }
  const reason = `${stale.problem} (the tools that were taken last hold)`;
  problems.raise(subject, reason);
  logger.error('tools.refused', { path: stale.place, reason });
  events.emit('hub.warning', 'tools', { warning: 'tools.refused', reason });
}

/** Whoever updates a plugin knows of it; whoever did not is to learn of it. */
function warnOfChangedPlugin(
  { logger, events }: Pick<RegistrationCollaborators, 'logger' | 'events'>,
  { name, integrity }: Manifest['changedPlugins'][number],
) {
  logger.warn('tools.plugin_changed', { plugin: name, integrity });
  const message = `The plugin ${name} has other files than when the hub loaded it last; its integrity is ${integrity} now`;
  events.emit('hub.warning', 'tools', { warning: 'tools.plugin_changed', message });
}

type Report = (leftOut: readonly SkippedRecord[]) => void;

/** Tells the owner which of the owner's own tools the hub does without, and why. */
function reportTo({ logger, events }: Pick<RegistrationCollaborators, 'logger' | 'events'>): Report {
  return (leftOut) => {
    for (const { place, problem } of leftOut) {
      logger.warn('tools.left_out', { place, problem });
      events.emit('hub.warning', 'tools', { warning: 'tools.left_out', message: `${place}: ${problem}` });
    }
  };
}
