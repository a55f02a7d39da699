import { silentLogger } from '../../../src/core/logger.ts';
import { basicTools } from '../../../src/tools/builtin/basic-tools.ts';
import { registrationTools } from '../../../src/tools/builtin/registration-tools.ts';
import { ToolRecordStore } from '../../../src/tools/registration/tool-record-store.ts';
import { ToolRegistrar } from '../../../src/tools/registration/tool-registrar.ts';
import { programsFake } from '../../tools/programs-fake.ts';
import { makeGateway } from '../gateway-room.ts';

/** A gateway of a hub with the basic tools, at which tools can be registered. */
export function makeRegisteringHub() {
  const room = makeGateway();
  const { registry, collaborators, store } = room;
  const records = new ToolRecordStore({ store, logger: silentLogger });
  const registrar = new ToolRegistrar({
    ...room,
    authorizer: collaborators.authorizer,
    programs: programsFake(),
    records,
    isClaimed: () => false,
    isReserved: () => false,
    logger: silentLogger,
  });
  const discover = async () => ({ registered: [], known: [], waiting: [], leftOut: [], board: [] });
  for (const tool of [...basicTools, ...registrationTools({ registrar, discover, obstacleTo: (tool) => room.pipeline.obstacleTo(tool) })])
    registry.register(tool);
  return room;
}
