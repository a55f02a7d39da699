import { OWNER } from './access/owner/owner-authenticator.ts';
import type { HubConfig } from './config.ts';
import type { Clock } from './core/clock.ts';
import type { KeyValueStore } from './core/key-value-store.ts';
import type { Logger } from './core/logger.ts';
import type { ServiceStack } from './core/service.ts';
import type { Access } from './open-access.ts';
import type { Workshop } from './open-workshop.ts';
import { basicTools } from './tools/builtin/basic-tools.ts';
import { registrationTools } from './tools/builtin/registration-tools.ts';
import { probeBoard } from './tools/registration/board-probe.ts';
import { readBootstrap } from './tools/registration/bootstrap-file.ts';
import { SeedDiscovery } from './tools/registration/seed-discovery.ts';
import { ToolRecordStore } from './tools/registration/tool-record-store.ts';
import { ToolRegistrar } from './tools/registration/tool-registrar.ts';

/** What registered tools are made from. */
export interface RegistrationGround {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: KeyValueStore;
  readonly access: Access;
}

/** Registers what the hub starts with and what was registered before it stopped, and the tools that register more. CONFIG_INVALID. */
export async function openRegistration(
  ground: RegistrationGround,
  workshop: Workshop,
  { config: { tools }, stack }: { readonly config: HubConfig; readonly stack: ServiceStack },
): Promise<ToolRegistrar> {
  const parts = { ...ground, ...workshop, authorizer: ground.access.authorizer, records: new ToolRecordStore(ground) };
  const registrar = new ToolRegistrar(parts, tools.allowedPermissions ? { allowed: tools.allowedPermissions } : {});
  const seed = new SeedDiscovery({
    ...parts,
    registrar,
    nucleus: basicTools,
    probe: () => probeBoard(),
    bootstrap: () => readBootstrap(tools.bootstrapFiles),
    owner: OWNER,
  });
  stack.own(seed);
  for (const tool of registrationTools({ registrar, discover: () => seed.discover() })) workshop.registry.register(tool);
  await seed.discover();
  registrar.restore();
  return registrar;
}
