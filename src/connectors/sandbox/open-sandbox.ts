import { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import type { Connector, ConnectorGround } from '../connector.ts';
import type { ConnectorsConfig } from '../connector-config.ts';
import { commandTools } from './command-tools.ts';
import { dockerListTool } from './docker-list-tool.ts';
import { NamedCommands } from './named-commands.ts';
import { openEngine, openProgramSandbox } from './open-program-sandbox.ts';

/** Tools that run commands of the owner; where nothing is configured they are listed as unavailable. CONFIG_INVALID. */
export function openSandbox(
  ground: Pick<ConnectorGround, 'env' | 'stateDir' | 'programs'>,
  { sandbox }: Pick<ConnectorsConfig, 'sandbox'>,
): Connector {
  const programs = ground.programs ?? openProgramSandbox(sandbox, ground);
  const commands = new NamedCommands({ programs, validator: new SchemaValidator() }, sandbox);
  return {
    tools: [...commandTools({ commands, programs }), dockerListTool(openEngine(sandbox, ground.env))],
    aliases: { tool_exec: 'core:exec', tool_docker_list: 'core:docker_list' },
  };
}
