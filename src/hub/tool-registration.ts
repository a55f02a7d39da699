import { registrationTools } from '../calls/builtin/registration-tools.ts';
import { SeedDiscovery } from '../calls/registration/seed-discovery.ts';
import { ToolRecordStore } from '../calls/registration/tool-record.ts';
import { ToolRegistrar } from '../calls/registration/tool-registrar.ts';
import { ScriptWorkerPool } from '../connectors/sandbox/script-worker-pool.ts';
import { OWNER } from '../core/auth/principal.ts';
import type { HubContext } from '../core/context.ts';
import { type AcceptedText, acceptedTextsInStore } from '../core/files/owner-file.ts';
import type { HubProblems } from '../core/health.ts';
import type { JsonObject } from '../core/json.ts';
import type { ServiceStack } from '../core/lifecycle.ts';
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

/** The modules that `source: builtin:<module>` of a tool manifest can name. */
const MANIFEST_BUILTINS = new Map([['thermal', (name: string, config: JsonObject) => thermalTool(name, config)]]);

/** The parts of the hub that registration needs. */
export interface RegistrationCollaborators extends Pick<HubContext, 'clock' | 'logger' | 'events' | 'store'> {
  readonly problems: Pick<HubProblems, 'raise' | 'clear'>;
  readonly auth: Auth;
  readonly deviceNames: Pick<DeviceNameRegistry, 'holderOf'>;
}

interface RegistrationOptions {
  readonly config: HubConfig;
  readonly programs: ProgramSandbox;
  readonly stack: ServiceStack;
}

/**
 * Registers the tools from the owner's manifest, the bootstrap file and earlier registrations. Also registers the built-in tools with which
 * callers register further tools. If a tool in an owner's file has a mistake, skips only that tool and reports it.
 */
export async function openRegistration(
  collaborators: RegistrationCollaborators,
  services: ToolServices,
  { config: { tools, sensors, stateDir }, programs, stack }: RegistrationOptions,
): Promise<ToolRegistrar> {
  const report = reportTo(collaborators);
  const reserved = new ReservedNames();
  const takenOf = acceptedTextsInStore(collaborators.store, stateDir);
  await loadOwnTools(collaborators, services.registry, { tools, programs, takenOf, report, reserved });
  const { auth, deviceNames } = collaborators;
  const isClaimed = (name: string) => deviceNames.holderOf(name) !== undefined;
  const records = new ToolRecordStore(collaborators);
  const isReserved = (name: string) => reserved.has(name);
  const registrar = new ToolRegistrar(
    {
      registry: services.registry,
      tools: services.tools,
      validator: services.validator,
      authorizer: auth.authorizer,
      records,
      pipeline: services.pipeline,
      clock: collaborators.clock,
      logger: collaborators.logger,
      isClaimed,
      isReserved,
      programs,
    },
    tools.allowedPermissions ? { allowed: tools.allowedPermissions } : {},
  );
  const seed = new SeedDiscovery({
    registry: services.registry,
    registrar,
    builtIn: [...basicTools, ...toolsOfBoard(services.registry.all())],
    probe: () => probeBoard(sensors.sysfs),
    parts: () => boardParts(),
    bootstrap: () => {
      const file = readFirstRecordFile(tools.bootstrapFiles, { takenOf });
      warnOfStaleFile(collaborators, 'tools to start with', file);
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
    obstacleTo: (tool) => services.pipeline.obstacleTo(tool),
  }))
    services.registry.register(tool);
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

/** Registers the tools of the manifest. Skips and reports tools with a mistake. */
async function loadOwnTools(
  collaborators: RegistrationCollaborators,
  registry: ToolRegistry,
  { tools: { manifestFile, plugins }, programs, takenOf, report, reserved }: OwnTools,
): Promise<void> {
  const { clock } = collaborators;
  const sources = { builtins: MANIFEST_BUILTINS, allowedPlugins: plugins, programs, scripts: new ScriptWorkerPool({ clock }), takenOf };
  const { leftOut, changedPlugins, records, ...file } = await loadManifest(manifestFile, sources, (tool) => registry.register(tool));
  warnOfStaleFile(collaborators, 'manifest of tools', file);
  reserved.reserve('manifest', records);
  for (const plugin of changedPlugins) warnOfChangedPlugin(collaborators, plugin);
  report(leftOut);
}

/** If a file has mistakes, reports that its last valid text stays in force. Otherwise withdraws an earlier report. */
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

/** Warns the owner that files of a plugin have changed, because someone else could have changed them. */
function warnOfChangedPlugin(
  { logger, events }: Pick<RegistrationCollaborators, 'logger' | 'events'>,
  { name, integrity }: Manifest['changedPlugins'][number],
) {
  logger.warn('tools.plugin_changed', { plugin: name, integrity });
  const message = `The plugin ${name} has other files than when the hub loaded it last; its integrity is ${integrity} now`;
  events.emit('hub.warning', 'tools', { warning: 'tools.plugin_changed', message });
}

type Report = (leftOut: readonly SkippedRecord[]) => void;

/** Returns a function that reports each skipped tool of the owner's files, and why it is skipped. */
function reportTo({ logger, events }: Pick<RegistrationCollaborators, 'logger' | 'events'>): Report {
  return (leftOut) => {
    for (const { place, problem } of leftOut) {
      logger.warn('tools.left_out', { place, problem });
      events.emit('hub.warning', 'tools', { warning: 'tools.left_out', message: `${place}: ${problem}` });
    }
  };
}
