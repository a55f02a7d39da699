import type { PlannedProgram } from '../../core/auth/principal.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema, tryParseJson } from '../../core/json.ts';
import {
  type RegisteredTool,
  type ToolContext,
  type ToolDefinition,
  unconfigured,
  whileConfigured,
} from '../definition/tool-definition.ts';
import { toolId } from '../definition/tool-names.ts';
import { effectsOf } from '../definition/tool-permissions.ts';
import { copyJson } from '../schema/plain-json.ts';
import type { RecordReader } from '../schema/record-reader.ts';
import { type ProgramKind, type ProgramRequest, type ProgramResult, type ProgramSandbox, programPermissions } from './program-sandbox.ts';

/** Message for people if the hub cannot run programs. */
export const NO_SANDBOX = 'this hub has no sandbox for programs';

/** The part of a program request that the tool determines. The call adds the caller, the signal and the confirmation. */
type ProgramInvocation = Omit<ProgramRequest, 'caller' | 'signal' | 'confirm'>;

const MAX_SHOWN_LENGTH = 300;
const STDIN = 'stdin';

/**
 * Returns the definition of a tool that runs a program. Callers need the permissions for programs. If the program can change something
 * outside of the sandbox, the tool always has side effects. If an agent made the tool, people must then also approve its calls.
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

/** Throws VALIDATION_ERROR for the determinism `bounded`: the hub cannot control the time and random numbers of a native program. */
export function refuseBoundedDeterminism({ execution }: Pick<ToolDefinition, 'execution'>): void {
  if (execution.determinism !== 'bounded') return;
  throw new AtmoError(
    'VALIDATION_ERROR',
    'A program cannot be "bounded": it sees the real time and real chance; declare it "nondeterministic", or "deterministic" if neither counts',
    { pointer: '/execution/determinism' },
  );
}

/** Returns the tool that runs a program. Without a sandbox, the tool is unavailable, and nobody is asked to approve its calls. */
export function execTool(definition: ToolDefinition, exec: ExecRecord, programs: ProgramSandbox | undefined): RegisteredTool {
  const id = toolId(definition);
  const plain = { id, definition };
  if (!programs) return unconfigured({ ...plain, isolation: 'process', handler: async () => null }, NO_SANDBOX);
  const tool: RegisteredTool = {
    ...plain,
    isolation: 'process',
    effects: (params) => {
      const { program, args, cwd, stdin } = invocationOf(exec, params);
      if (exec.type === 'cmd') programs.requireSafe([program, ...args], cwd, stdin);
      return effectsOf({ ...plain, handler: async () => null }, params);
    },
    implementation: () => copyJson(exec),
    program: (params) => plannedProgram(exec, params, programs),
    handler: async (params, context) => {
      const { maxMemoryBytes } = definition.execution;
      const bound = maxMemoryBytes === undefined ? {} : { maxMemoryBytes };
      const order = { ...invocationOf(exec, params), ...bound };
      return parseProgramOutput(
        requireSuccess(await runProgram(programs, order, { definition, context }), order).stdout,
        definition.returns,
      );
    },
  };
  return whileConfigured(tool, () => programs.missingSetting(exec.type));
}

/** Returns the program as approvers see it. In place of unknown parameters, the arguments have placeholders. */
function plannedProgram(exec: ExecRecord, params: JsonObject | undefined, programs: ProgramSandbox): PlannedProgram {
  const order = params ? invocationOf(exec, params) : { ...invocationOf({ ...exec, args: [] }, {}), args: exec.args ?? [] };
  const { kind, program, args } = order;
  return { kind, program, args, ...programs.inspect(order) };
}

function invocationOf(exec: ExecRecord, params: JsonObject): ProgramInvocation {
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

/** Runs a tool's program. Rejects with the sandbox's errors, and with OUTCOME_UNKNOWN if a program with side effects was interrupted. */
export async function runProgram(
  programs: ProgramSandbox,
  order: ProgramInvocation,
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

/** Throws SERVICE_REFUSED if the program's exit code is not 0. */
function requireSuccess(result: ProgramResult, { program }: Pick<ProgramRequest, 'program'>): ProgramResult {
  if (result.exitCode === 0) return result;
  const said = (result.stderr || result.stdout).slice(-MAX_SHOWN_LENGTH).replaceAll(/\s+/g, ' ').trim();
  throw new AtmoError('SERVICE_REFUSED', `The program ${program} ended with ${result.exitCode}${said === '' ? '' : `: ${said}`}`, {
    exit_code: result.exitCode,
  });
}

/** A program in a record of the HTTP tool service. */
export interface ExecRecord {
  readonly type: ProgramKind;
  readonly cmd?: string;
  readonly args?: readonly string[];
  readonly image?: string;
  /** Name of the parameter that the program gets as standard input; default: `stdin`, if the tool has that parameter. */
  readonly stdin?: string;
  /** Names of powers, which are sets of rights in the owner's configuration (`connectors.sandbox.powers`). */
  readonly powers?: readonly string[];
}

const PROGRAM_PATTERN = /^[A-Za-z0-9_.+/-]{1,256}$/;
const IMAGE_PATTERN = /^[a-z0-9][A-Za-z0-9_.:/@-]{0,255}$/;
const POWER_PATTERN = /^[a-z][a-z0-9_-]{0,31}$/;
const MAX_ARGS = 64;
const MAX_POWERS = 16;

/** Reads `exec`. Returns undefined if it is absent. Throws VALIDATION_ERROR if it is malformed or uses an unknown parameter. */
export function readExec(reader: RecordReader, parameters: readonly string[]): ExecRecord | undefined {
  if (!reader.has('exec')) return undefined;
  const exec = reader.child('exec');
  const type = exec.oneOf('type', ['cmd', 'image']);
  if (type === undefined) throw exec.refuse('type', 'is missing: cmd or image');
  const cmd = exec.text('cmd');
  const image = exec.text('image');
  if (type === 'cmd' && !PROGRAM_PATTERN.test(cmd ?? ''))
    throw exec.refuse('cmd', 'has to be one program, by path or name; arguments go to args');
  if (type === 'image' && !IMAGE_PATTERN.test(image ?? '')) throw exec.refuse('image', 'has to be the name of an image');
  const rest = readArguments(exec, parameters);
  exec.end();
  return { type, ...(cmd !== undefined && { cmd }), ...(image !== undefined && { image }), ...rest };
}

/** Reads `args`, `stdin` and `powers` of a program from a record or a manifest entry. */
export function readArguments(
  reader: RecordReader,
  parameters: readonly string[] | undefined,
): Pick<ExecRecord, 'args' | 'stdin' | 'powers'> {
  const args = reader.texts('args');
  const stdin = reader.text('stdin');
  const powers = reader.texts('powers');
  if ((args ?? []).length > MAX_ARGS) throw reader.refuse('args', `may have at most ${MAX_ARGS} arguments`);
  const unknown = argumentParameters(args ?? []).find((name) => parameters && !parameters.includes(name));
  if (unknown !== undefined) throw reader.refuse('args', `holds {${unknown}}, which is no parameter of the tool`);
  if (stdin !== undefined && parameters && !parameters.includes(stdin)) throw reader.refuse('stdin', 'has to be a parameter of the tool');
  const isNamed = (powers ?? []).length <= MAX_POWERS && (powers ?? []).every((power) => POWER_PATTERN.test(power));
  if (!isNamed) throw reader.refuse('powers', 'has to list names of powers in connectors.sandbox.powers of the configuration');
  return { ...(args && { args }), ...(stdin !== undefined && { stdin }), ...(powers && { powers }) };
}

/** Returns the program as JSON, in the form that registrations and the store use. */
export function execJson(exec: ExecRecord): JsonObject {
  return { ...exec };
}

const PLACEHOLDER = /\{(\w+)\}/g;

/** Returns the names of the parameters whose placeholders are in these arguments. */
export function argumentParameters(args: readonly string[]): readonly string[] {
  return args.flatMap((arg) => [...arg.matchAll(PLACEHOLDER)].map(([, name = '']) => name));
}

/** Returns the parts of an argument that are not placeholders. */
export function fixedTexts(arg: string): readonly string[] {
  return arg.split(PLACEHOLDER).filter((_, index) => index % 2 === 0);
}

/**
 * Returns the arguments with the call's parameters in place of `{param}`. A value always stays one argument, and becomes JSON if it is not
 * a text. If a parameter is absent, its argument is left out. Throws VALIDATION_ERROR if the program would read a value as an option, or if
 * a value contains a NUL character.
 */
export function fillArguments(args: readonly string[], params: JsonObject): readonly string[] {
  const end = args.indexOf('--');
  return args.flatMap((arg, index) => {
    const names = argumentParameters([arg]);
    if (names.some((name) => params[name] === undefined)) return [];
    const filled = arg.replace(PLACEHOLDER, (_, name: string) => argumentText(name, params[name] ?? null));
    const isAfterOptions = end !== -1 && end < index;
    if (names.length > 0 && !arg.startsWith('-') && filled.startsWith('-') && !isAfterOptions) requireNumber(filled, names);
    return [filled];
  });
}

/** Returns a text unchanged, and any other value as JSON. Throws VALIDATION_ERROR for a NUL character, which no argument can contain. */
function argumentText(name: string, value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (!text.includes('\0')) return text;
  throw invalidArgument(name, 'holds a NUL character, which no program can be given');
}

/** Throws VALIDATION_ERROR unless the text is a number. Every program reads `-5` as a number, but most read `-rf` as an option. */
function requireNumber(text: string, [name = '']: readonly string[]): void {
  if (/^-\d+(\.\d+)?$/.test(text)) return;
  throw invalidArgument(name, 'begins with "-", which the program would take for an option; whoever made the tool can put "--" before it');
}

function invalidArgument(name: string, problem: string): AtmoError {
  return new AtmoError('VALIDATION_ERROR', `/${name} ${problem}`, { pointer: `/${name}` });
}

/** Maximum number of lines to parse, counted from the end of the output. The limit exists because parsing blocks the whole hub. */
const MAX_LINES = 100;

const SCALAR_TYPES: readonly unknown[] = ['number', 'integer', 'boolean', 'null'];

/**
 * Returns a program's output as JSON. If the schema's type is a text, number, boolean or null, reads the output as such a value. Otherwise
 * looks for an object or list: first as the whole output, then line by line from the end. If there is none, returns `{output: text}`.
 */
export function parseProgramOutput(stdout: string, { type }: JsonSchema = {}): Json {
  const text = stdout.trimEnd();
  if (type === 'string') return text;
  const value = tryParseJson(stdout);
  if (isJsonObject(value) || Array.isArray(value)) return value;
  if (value !== undefined && SCALAR_TYPES.includes(type)) return value;
  return lastJsonLine(stdout) ?? { output: text };
}

function lastJsonLine(text: string): Json | undefined {
  const lines = text.split('\n').filter((line) => /^\s*[{[]/.test(line));
  for (const line of lines.slice(-MAX_LINES).reverse()) {
    const value = tryParseJson(line);
    if (isJsonObject(value) || Array.isArray(value)) return value;
  }
  return undefined;
}
