import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { ToolDefinition, ToolHandler } from '../definition/tool-definition.ts';
import { NODE_BYTES, nodeArguments } from './node-process.ts';
import { boundedEnvironment, ENTER_ENVIRONMENT, type ProgramSandbox } from './program-sandbox.ts';
import { runProgram } from './program-tool.ts';

/** An ES module of the owner whose code runs in the sandbox. */
export interface SandboxedModule {
  readonly specifier: string;
  readonly entry: string;
  readonly config: JsonObject;
  readonly powers: readonly string[];
  /** Paths that the module can read besides the system's programs: either its folder or only its own file. */
  readonly visible: readonly string[];
}

const DEFAULT_MEMORY = 64 * 1_048_576;

const PROGRAM = `${ENTER_ENVIRONMENT}
let text = '';
for await (const part of process.stdin.setEncoding('utf8')) text += part;
const { mark, specifier, entry, config, params, world } = JSON.parse(text);
const print = process.stdout.write.bind(process.stdout);
process.stdout.write = () => true;
const answer = async () => {
  try {
    const context = enterWorld(world);
    const tool = await (await import(specifier))[entry](config);
    return { result: (await tool.execute(params, context)) ?? null };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
};
const line = mark + JSON.stringify(await answer());
print('\\n' + line + '\\n', () => process.exit(0));`;

/**
 * Returns a handler that runs each call in a separate Node.js process in the sandbox. The module can use only its own files and what its
 * powers grant: files, networks and environment variables. Rejects with the sandbox's errors, and with INTERNAL_ERROR if the module fails.
 */
export function sandboxedModule(module: SandboxedModule, definition: ToolDefinition, programs: ProgramSandbox): ToolHandler {
  const { maxMemoryBytes = DEFAULT_MEMORY } = definition.execution;
  const args = nodeArguments(PROGRAM, maxMemoryBytes);
  const { powers, visible, ...code } = module;
  return async (params, context) => {
    const mark = randomBytes(16).toString('hex');
    const order = {
      kind: 'cmd',
      program: process.execPath,
      args,
      stdin: JSON.stringify({ mark, ...code, params, world: boundedEnvironment(definition, context) }),
      powers,
      visible: [process.execPath, ...visible],
      maxMemoryBytes: maxMemoryBytes + NODE_BYTES,
      isRuntime: true,
    } as const;
    const { stdout, exitCode } = await runProgram(programs, order, { definition, context });
    return parseOutput(stdout, mark, exitCode);
  };
}

/** Returns the module's folder, or only its file if the folder also contains the manifest. */
export function visiblePaths(specifier: string, manifestFile: string): readonly string[] {
  const file = fileURLToPath(specifier);
  const folder = dirname(file);
  const isBeside = folder === '/' || `${dirname(manifestFile)}/`.startsWith(`${folder}/`);
  return [isBeside ? file : folder];
}

/** Parses the output of a module. The result is the last line that begins with the mark; other lines are ignored. */
function parseOutput(stdout: string, mark: string, exitCode: number): Json {
  const line = stdout.split('\n').findLast((text) => text.startsWith(mark));
  if (line === undefined) throw failed(`it ended with ${exitCode} and without an answer`);
  const answer: unknown = JSON.parse(line.slice(mark.length));
  if (isJsonObject(answer) && answer.result !== undefined) return answer.result;
  throw failed(isJsonObject(answer) ? String(answer.error) : 'no reason given');
}

function failed(reason: string): AtmoError {
  return new AtmoError('INTERNAL_ERROR', 'The tool failed; the log of the hub has its reason', {}, { cause: new EvalError(reason) });
}
