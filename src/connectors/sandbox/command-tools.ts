import type { PlannedProgram } from '../../core/auth/principal.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import { normalizeDefinition } from '../../tools/definition/public-definition.ts';
import { type RegisteredTool, type ToolContext, unconfigured, whileConfigured } from '../../tools/definition/tool-definition.ts';
import { toolId } from '../../tools/definition/tool-names.ts';
import type { ProgramSandbox } from '../../tools/programs/program-sandbox.ts';
import { runProgram } from '../../tools/programs/program-tool.ts';
import { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import { type Connector, type ConnectorContext, resultSchema, toolOver } from '../connector.ts';
import type { ConnectorsConfig } from '../connectors-config.ts';
import { openEngine } from './bubblewrap-sandbox.ts';
import { dockerListTool } from './container-engine.ts';
import { type FilledCommand, NamedCommands, schemaOf } from './named-commands.ts';
import type { CommandConfig } from './sandbox-config.ts';

/**
 * Returns a connector with the tools for the owner's commands and containers. Without commands, the tools for them are not configured.
 * Throws CONFIG_INVALID if a command uses an unknown parameter or power, or if it begins with a parameter instead of a program.
 */
export function openSandbox(
  { env, programs }: Pick<ConnectorContext, 'env' | 'programs'>,
  { sandbox }: Pick<ConnectorsConfig, 'sandbox'>,
): Connector {
  const commands = new NamedCommands({ programs, validator: new SchemaValidator() }, sandbox);
  return {
    tools: [
      ...commandTools({ commands, programs }),
      toolOver(openEngine(sandbox, env), 'connectors.sandbox.container_engine', dockerListTool),
    ],
    aliases: { tool_exec: 'core:exec', tool_docker_list: 'core:docker_list' },
  };
}

interface CommandServices {
  readonly commands: NamedCommands;
  readonly programs: ProgramSandbox;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const NAMESPACE = 'command';
const SETTING = 'set connectors.sandbox.commands in the configuration';
const MAX_LINE = 4096;
const RETURNS = resultSchema(['stdout', 'stderr', 'exit_code'], {
  stdout: { type: 'string', description: 'What it printed' },
  stderr: { type: 'string', description: 'What it printed beside that' },
  exit_code: { type: 'integer', description: '0 when all went well' },
});

/** Returns a tool for each permitted command, and the tools `exec` and `shell`, which take a command line. */
function commandTools(services: CommandServices): readonly RegisteredTool[] {
  const named = services.commands.entries().map(([name, config]) => namedTool(name, config, services));
  const lines = [execTool(services), shellTool(services)];
  if (named.length === 0) return lines.map((tool) => unconfigured(tool, SETTING));
  // The tools are unavailable if bubblewrap is missing or the sandbox does not work. The start of the first program tests the sandbox.
  return [...named, ...lines].map((tool) => whileConfigured(tool, () => services.programs.missingSetting('cmd')));
}

function execTool({ commands, programs }: CommandServices): RegisteredTool {
  const tool: RegisteredTool = defineTool(
    {
      ...lineDeclaration(commands),
      name: 'exec',
      title: 'Run a command',
      description: `Runs one command line of those that the owner allows, in a sandbox and without a shell. ${formsOf(commands)}`,
      parameters: { cmd: p.string({ description: 'The command line, such as: df -h', minLength: 1, maxLength: MAX_LINE }) },
      effects: ({ cmd }) => [commands.effectOf(commands.fromLine(cmd))],
    },
    async ({ cmd }, context) => runCommand(commands.fromLine(cmd), tool, { programs, context }),
  );
  return { ...tool, program: (params) => linePlan(params && commands.fromLine(String(params.cmd)), programs) };
}

function shellTool({ commands, programs }: CommandServices): RegisteredTool {
  const tool: RegisteredTool = defineTool(
    {
      ...lineDeclaration(commands),
      name: 'shell',
      title: 'Run a command in a folder',
      description: `Runs one command line of those that the owner allows in a folder that it may use; no pipes, variables or wildcards. ${formsOf(commands)}`,
      parameters: {
        command: p.string({ description: 'The command line, such as: ls -la', minLength: 1, maxLength: MAX_LINE }),
        cwd: p.string({ description: 'Working folder, an absolute path', pattern: '^/', maxLength: 1024 }).optional(),
      },
      effects: ({ command, cwd }) => [commands.effectOf(commands.fromLine(command, cwd))],
    },
    async ({ command, cwd }, context) => runCommand(commands.fromLine(command, cwd), tool, { programs, context }),
  );
  const planned = ({ command, cwd }: JsonObject) => commands.fromLine(String(command), typeof cwd === 'string' ? cwd : undefined);
  return { ...tool, program: (params) => linePlan(params && planned(params), programs) };
}

function lineDeclaration(commands: NamedCommands) {
  return {
    category: 'managing',
    hasSideEffects: true,
    isDestructive: true,
    isAsyncAllowed: true,
    permissions: ['proc:exec'],
    timeoutMs: commands.timeoutMs || DEFAULT_TIMEOUT_MS,
    tags: ['command'],
    returns: RETURNS,
  } as const;
}

function namedTool(name: string, config: CommandConfig, { commands, programs }: CommandServices): RegisteredTool {
  const definition = normalizeDefinition({
    name,
    namespace: NAMESPACE,
    version: '1.0.0',
    title: name.replaceAll('_', ' '),
    description: `${config.description.trim()} Runs ${config.argv.join(' ')} in a sandbox.`,
    parameters: schemaOf(config),
    returns: RETURNS,
    requires: { permissions: [`proc:exec:${name}`] },
    execution: { side_effects: true, async_allowed: true, timeout_ms: config.timeoutSeconds * 1_000, retries: 0 },
    dangerous: config.approval,
    metadata: { category: 'managing', tags: ['command'] },
  });
  const tool: RegisteredTool = {
    id: toolId(definition),
    definition,
    effects: (params) => [commands.effectOf(commands.fill(name, params))],
    program: (params) => planOf(params ? commands.fill(name, params) : { ...config, config }, programs),
    handler: async (params, context) => runCommand(commands.fill(name, params), tool, { programs, context }),
  };
  return tool;
}

async function runCommand(
  { argv: [program = '', ...args], cwd, config }: FilledCommand,
  { definition }: RegisteredTool,
  { programs, context }: { readonly programs: ProgramSandbox; readonly context: ToolContext },
): Promise<Json> {
  const order = { kind: 'cmd', program, args, powers: config.powers, ...(cwd !== undefined && { cwd }) } as const;
  const { stdout, stderr, exitCode } = await runProgram(programs, order, { definition, context });
  return { stdout, stderr, exit_code: exitCode };
}

/** Returns the program that a command line would run. While the command line is unknown, returns a general description. */
function linePlan(command: FilledCommand | undefined, programs: ProgramSandbox): PlannedProgram {
  if (command) return planOf(command, programs);
  return { kind: 'cmd', program: 'a command that the owner allows', args: [], powers: [], versions: [] };
}

function planOf({ argv: [program = '', ...args], cwd, config }: Omit<FilledCommand, 'name'>, programs: ProgramSandbox): PlannedProgram {
  const order = { program, args, powers: config.powers, ...(cwd !== undefined && { cwd }) };
  const { powers: _, ...shown } = order;
  return { kind: 'cmd', ...shown, ...programs.inspect(order) };
}

function formsOf(commands: NamedCommands): string {
  const forms = commands.entries().map(([, { argv }]) => argv.join(' '));
  return forms.length === 0 ? 'The owner has allowed none yet.' : `Allowed: ${forms.join('; ').slice(0, 1_000)}.`;
}
