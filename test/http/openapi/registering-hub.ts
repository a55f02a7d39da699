import { registrationTools } from '../../../src/calls/builtin/registration-tools.ts';
import { ToolRecordStore } from '../../../src/calls/registration/tool-record.ts';
import { ToolRegistrar } from '../../../src/calls/registration/tool-registrar.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { basicTools } from '../../../src/tools/builtin/basic-tools.ts';
import { programsFake } from '../../tools/programs/program-sandbox-fake.ts';
import { makeHttpApi } from '../http-fixture.ts';

/** A httpApi of a hub with the basic tools, at which tools can be registered. */
export function makeRegisteringHub() {
  const setup = makeHttpApi();
  const { registry, collaborators, store } = setup;
  const records = new ToolRecordStore({ store, logger: silentLogger });
  const registrar = new ToolRegistrar({
    ...setup,
    authorizer: collaborators.authorizer,
    programs: programsFake(),
    records,
    isClaimed: () => false,
    isReserved: () => false,
    logger: silentLogger,
  });
  const discover = async () => ({ registered: [], known: [], waiting: [], leftOut: [], board: [] });
  for (const tool of [...basicTools, ...registrationTools({ registrar, discover, obstacleTo: (tool) => setup.pipeline.obstacleTo(tool) })])
    registry.register(tool);
  return setup;
}
