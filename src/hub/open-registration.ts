import { existsSync } from 'node:fs';
import { OWNER } from '../access/owner/owner-authenticator.ts';
import type { HubConfig } from '../config/config.ts';
import { ScriptThreads } from '../connectors/sandbox/script-threads.ts';
import { AtmoError, toAtmoError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import type { ServiceStack } from '../core/service.ts';
import type { KeyValueStore } from '../core/storage/key-value-store.ts';
import type { Clock } from '../core/time/clock.ts';
import { basicTools } from '../tools/builtin/basic-tools.ts';
import { registrationTools } from '../tools/builtin/registration-tools.ts';
import { thermalTool } from '../tools/builtin/sensors/thermal-tool.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import { loadManifest } from '../tools/manifest/tool-manifest.ts';
import type { ProgramSandbox } from '../tools/programs/program-sandbox.ts';
import { probeBoard, toolsOfBoard } from '../tools/registration/board-probe.ts';
import { readBootstrap } from '../tools/registration/bootstrap-file.ts';
import { SeedDiscovery } from '../tools/registration/seed-discovery.ts';
import { ToolRecordStore } from '../tools/registration/tool-record-store.ts';
import { ToolRegistrar } from '../tools/registration/tool-registrar.ts';
import type { Access } from './open-access.ts';
import type { Workshop } from './open-workshop.ts';

/** What `source: builtin:<module>` of a tool manifest may name. */
const MANIFEST_BUILTINS = new Map([['thermal', (name: string, config: JsonObject) => thermalTool(name, config)]]);

/** What registered tools are made from. */
export interface RegistrationGround {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: KeyValueStore;
  readonly access: Access;
}

interface RegistrationOptions {
  readonly config: HubConfig;
  /** Where the programs of tools run. */
  readonly programs: ProgramSandbox;
  readonly stack: ServiceStack;
}

/**
 * Registers the owner's own tools, what the hub starts with, what was registered before it stopped, and the tools that register
 * more. CONFIG_INVALID.
 */
export async function openRegistration(
  ground: RegistrationGround,
  workshop: Workshop,
  { config: { tools, sensors }, programs, stack }: RegistrationOptions,
): Promise<ToolRegistrar> {
  await loadOwnTools(ground, workshop, { tools, programs });
  const parts = { ...ground, ...workshop, programs, authorizer: ground.access.authorizer, records: new ToolRecordStore(ground) };
  const registrar = new ToolRegistrar(parts, tools.allowedPermissions ? { allowed: tools.allowedPermissions } : {});
  const seed = new SeedDiscovery({
    ...parts,
    registrar,
    nucleus: [...basicTools, ...toolsOfBoard(workshop.registry.all())],
    probe: () => probeBoard(sensors.sysfs),
    bootstrap: () => readBootstrap(tools.bootstrapFiles),
    owner: OWNER,
  });
  stack.own(seed);
  for (const tool of registrationTools({ registrar, discover: () => seed.discover() })) workshop.registry.register(tool);
  await seed.discover();
  registrar.restore();
  return registrar;
}

async function loadOwnTools(
  { clock }: RegistrationGround,
  { registry }: Workshop,
  { tools: { manifestFile, plugins }, programs }: { readonly tools: HubConfig['tools']; readonly programs: ProgramSandbox },
): Promise<void> {
  if (!existsSync(manifestFile)) return;
  const sources = { builtins: MANIFEST_BUILTINS, allowedPlugins: plugins, programs, scripts: new ScriptThreads({ clock }) };
  for (const tool of await loadManifest(manifestFile, sources)) registerFrom(manifestFile, tool, registry);
}

/** What the registry refuses is a mistake in the file: CONFIG_INVALID names it and the tool. */
function registerFrom(file: string, tool: RegisteredTool, registry: Pick<Workshop['registry'], 'register'>): void {
  try {
    registry.register(tool);
  } catch (cause) {
    const { message, details } = toAtmoError(cause);
    throw new AtmoError('CONFIG_INVALID', `${file}: ${tool.definition.name}: ${message}`, details, { cause });
  }
}
