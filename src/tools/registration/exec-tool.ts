import type { PlannedProgram } from '../../core/access/approvals.ts';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { whileConfigured, withoutSetting } from '../definition/missing-setting.ts';
import { effectsOf } from '../definition/permission-template.ts';
import type { RegisteredTool, ToolContext, ToolDefinition } from '../definition/tool-definition.ts';
import { toolId } from '../definition/tool-name.ts';
import { type ProgramOrder, type ProgramResult, type ProgramSandbox, programPermissions } from '../programs/program-sandbox.ts';
import { copyJson } from '../schema/plain-json.ts';
import { argumentText, fillArguments } from './exec-arguments.ts';
import { outputOf } from './exec-output.ts';
import type { ExecRecord } from './exec-record.ts';

/** What is missing where no programs can run at all. */
export const NO_SANDBOX = 'this hub has no sandbox for programs';

/** What a tool says of a program; whose it is, when it ends and whether it may still start is said by the call. */
type CallersOrder = Omit<ProgramOrder, 'caller' | 'signal' | 'confirm'>;

const SHOWN = 300;
const STDIN = 'stdin';

/**
 * The definition of a tool that runs a program: whoever calls it needs what the program needs. One that can change something
 * outside of the sandbox has side effects, whatever its maker says, and a person approves what an agent made of that kind.
 */
export function execDefinition(draft: ToolDefinition, exec: ExecRecord, programs: ProgramSandbox | undefined): ToolDefinition {
  const powers = exec.powers ?? [];
  const isActing = powers.some((name) => programs?.power(name)?.isActing !== false);
  const { requires, execution, metadata } = draft;
  const permissions = [...new Set([...requires.permissions, ...programPermissions({ kind: exec.type, powers })])];
  const hasSideEffects = execution.hasSideEffects || isActing;
  return {
    ...draft,
    requires: { ...requires, permissions },
    execution: {
      ...execution,
      hasSideEffects,
      isIdempotent: execution.isIdempotent && (!isActing || execution.hasSideEffects),
      retries: 0,
      determinism: isActing ? 'nondeterministic' : execution.determinism,
    },
    metadata: { ...metadata, isDangerous: metadata.isDangerous || (isActing && metadata.createdBy === 'agent') },
  };
}

/** VALIDATION_ERROR for a program that is declared bounded: nothing gives a program of the board another time and other chance. */
export function requireRealWorld({ execution }: Pick<ToolDefinition, 'execution'>): void {
  if (execution.determinism !== 'bounded') return;
  throw new AtmoError(
    'VALIDATION_ERROR',
    'A program cannot be "bounded": it sees the real time and real chance; declare it "nondeterministic", or "deterministic" if neither counts',
    { pointer: '/execution/determinism' },
  );
}

/** The tool of a program. Without a sandbox to run it in it is listed as unavailable, and nobody is asked to approve it. */
export function execTool(definition: ToolDefinition, exec: ExecRecord, programs: ProgramSandbox | undefined): RegisteredTool {
  const id = toolId(definition);
  const plain = { id, definition };
  if (!programs) return withoutSetting({ ...plain, isolation: 'process', handler: async () => null }, NO_SANDBOX);
  const tool: RegisteredTool = {
    ...plain,
    isolation: 'process',
    effects: (params) => {
      const { program, args, cwd, stdin } = orderOf(exec, params);
      if (exec.type === 'cmd') programs.requireSafe([program, ...args], cwd, stdin);
      return effectsOf({ ...plain, handler: async () => null }, params);
    },
    implementation: () => copyJson(exec),
    program: (params) => planOf(exec, params, programs),
    handler: async (params, context) => {
      const { maxMemoryBytes } = definition.execution;
      const bound = maxMemoryBytes === undefined ? {} : { maxMemoryBytes };
      const order = { ...orderOf(exec, params), ...bound };
      return outputOf(successOf(await runToEnd(programs, order, { definition, context }), order).stdout, definition.returns);
    },
  };
  return whileConfigured(tool, () => programs.missingSetting(exec.type));
}

/** With the places of its arguments where the parameters are not known. */
function planOf(exec: ExecRecord, params: JsonObject | undefined, programs: ProgramSandbox): PlannedProgram {
  const order = params ? orderOf(exec, params) : { ...orderOf({ ...exec, args: [] }, {}), args: exec.args ?? [] };
  const { kind, program, args } = order;
  return { kind, program, args, ...programs.outlook(order) };
}

function orderOf(exec: ExecRecord, params: JsonObject): CallersOrder {
  const { type, cmd, image, args = [], stdin = STDIN, powers = [] } = exec;
  const input = params[stdin];
  const filled = fillArguments(args, params);
  return {
    kind: type,
    program: (type === 'cmd' ? cmd : image) ?? '',
    args: type === 'image' && cmd !== undefined ? [cmd, ...filled] : filled,
    powers,
    ...(input !== undefined && { stdin: argumentText(stdin, input) }),
  };
}

/** Runs a program of a tool. Errors as those of the sandbox; OUTCOME_UNKNOWN for one that could do something and was ended half way. */
export async function runToEnd(
  programs: ProgramSandbox,
  order: CallersOrder,
  { definition, context }: { readonly definition: ToolDefinition; readonly context: ToolContext },
): Promise<ProgramResult> {
  try {
    return await programs.run({ ...order, caller: context.principal, signal: context.signal, confirm: context.confirm });
  } catch (error) {
    if (!context.signal.aborted || !definition.execution.hasSideEffects) throw error;
    throw new AtmoError(
      'OUTCOME_UNKNOWN',
      `${order.program} was ended while it was running; look at what it has done before calling again`,
    );
  }
}

/** SERVICE_REFUSED for a program that says that it failed. */
function successOf(result: ProgramResult, { program }: Pick<ProgramOrder, 'program'>): ProgramResult {
  if (result.exitCode === 0) return result;
  const said = (result.stderr || result.stdout).slice(-SHOWN).replaceAll(/\s+/g, ' ').trim();
  throw new AtmoError('SERVICE_REFUSED', `The program ${program} ended with ${result.exitCode}${said === '' ? '' : `: ${said}`}`, {
    exit_code: result.exitCode,
  });
}
