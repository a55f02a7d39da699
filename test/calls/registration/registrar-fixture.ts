import { ToolRecordStore } from '../../../src/calls/registration/tool-record.ts';
import { ToolRegistrar } from '../../../src/calls/registration/tool-registrar.ts';
import type { Principal } from '../../../src/core/auth/principal.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { ReservedNames } from '../../../src/tools/manifest/record-file.ts';
import type { ProgramSandbox } from '../../../src/tools/programs/program-sandbox.ts';
import { programsFake } from '../../tools/programs/program-sandbox-fake.ts';
import { agent, makePipeline, makeTool, owner } from '../pipeline-fixture.ts';

/** Parameters of a tool on one device, which may be named `Hall lamp`. */
export const ON_DEVICE = {
  type: 'object',
  required: ['device_id'],
  properties: { device_id: { type: 'string', description: 'Device' }, level: { type: 'integer', description: 'Level' } },
};

type RoomParts = Parameters<typeof makePipeline>[0] & {
  readonly programs?: ProgramSandbox;
  readonly isClaimed?: (name: string) => boolean;
};

/** A room with a registrar, a lamp tool that takes any device, a lock, and a thermometer; `ran` has what was called for whom. */
export function makeRegistrar(
  { programs = programsFake(), isClaimed = () => false, logger = silentLogger, ...extra }: RoomParts = {},
  options: ConstructorParameters<typeof ToolRegistrar>[1] = { allowed: ['*'] },
) {
  const setup = makePipeline({ ...extra, logger });
  const ran: { readonly tool: string; readonly by: string; readonly params: JsonObject }[] = [];
  const add = (name: string, input: Parameters<typeof makeTool>[0], result: JsonObject = { ok: true }) =>
    setup.registry.register(
      makeTool({
        ...input,
        name,
        handler: async (params, { agentId }) => {
          ran.push({ tool: name, by: agentId, params });
          return { ...result, ...params };
        },
      }),
    );
  const canonicalize = (params: JsonObject) => ({ ...params, device_id: String(params.device_id).toLowerCase().replaceAll(' ', '-') });
  const acting = { execution: { side_effects: true } };
  add('dim', { ...acting, parameters: ON_DEVICE, permissions: ['device:control:{device_id}'], canonicalize });
  add('unlock', { ...acting, permissions: ['device:control:door'], dangerous: true });
  add('temperature', { permissions: ['sensor:read:hall/temperature'] }, { temperature: 21 });
  add('mint', { ...acting, permissions: ['admin:token'] });
  const records = new ToolRecordStore({ store: setup.store, logger: silentLogger });
  const reserved = new ReservedNames();
  const isReserved = (name: string) => reserved.has(name);
  const names = { isClaimed, isReserved };
  const make = (own = options) =>
    new ToolRegistrar({ ...setup, authorizer: setup.collaborators.authorizer, records, ...names, logger, programs }, own);
  const registrar = make();
  const call = (tool: string, params: JsonObject = {}, principal: Principal = owner) => setup.pipeline.call({ principal, tool, params });
  return { ...setup, ran, add, records, reserved, registrar, make, call };
}

/** The record of a tool with these steps, in the form of the HTTP tool service. */
export function record(id: string, steps: readonly JsonObject[], extra: JsonObject = {}): JsonObject {
  return { id, name: id, description: 'Does what a test wants.', input_schema: {}, steps, ...extra };
}

/** An agent that may register tools and what else is said. */
export function maker(...permissions: readonly string[]): Principal {
  return agent('tool:register', ...permissions);
}
