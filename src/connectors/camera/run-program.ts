import { spawn } from 'node:child_process';
import { AtmoError } from '../../core/errors.ts';

/** A program with its arguments, which no shell ever sees. */
export interface ProgramRun {
  readonly program: string;
  readonly args: readonly string[];
  readonly input?: string | Uint8Array;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  /** Most that it may write. */
  readonly maxBytes: number;
}

/** What every run for a picture needs. */
export type PictureRun = Pick<ProgramRun, 'env' | 'signal' | 'maxBytes'>;

/** How a program ended. */
export interface ProgramEnd {
  /** null where a signal ended it. */
  readonly exitCode: number | null;
  readonly output: Uint8Array<ArrayBuffer>;
  /** The end of what it complained of. */
  readonly complaint: string;
}

const MAX_COMPLAINT = 2_000;
/** What programs that know nothing of the hub get of its environment: no secret is among it. */
const PASSED_ON = ['PATH', 'HOME', 'LANG', 'LD_LIBRARY_PATH'];

/**
 * Runs a program to its end and holds what it writes in memory; it is killed when the signal aborts or it writes too much. Errors:
 * NOT_SUPPORTED (it is not installed), PAYLOAD_TOO_LARGE, or what the signal aborts with.
 */
export async function runProgram({ program, args, input, env, signal, maxBytes }: ProgramRun): Promise<ProgramEnd> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<ProgramEnd>();
  const child = spawn(program, args, { env: passedOn(env), stdio: ['pipe', 'pipe', 'pipe'], shell: false });
  const parts: Buffer[] = [];
  let length = 0;
  let complaint = '';
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  child.once('error', (error) => reject(notStarted(program, error)));
  // A program that has ended, or wants no more input, breaks the pipe; its exit code says more.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  child.stdout.on('data', (part: Buffer) => {
    length += part.length;
    if (length > maxBytes) kill();
    else parts.push(part);
  });
  child.stderr.on('data', (part: Buffer) => {
    complaint = (complaint + part.toString('utf8')).slice(-MAX_COMPLAINT);
  });
  child.once('close', (exitCode) => {
    if (signal.aborted) reject(signal.reason);
    else if (length > maxBytes) reject(tooMuch(program, maxBytes));
    else resolve({ exitCode, output: new Uint8Array(Buffer.concat(parts)), complaint: complaint.trim() });
  });
  return promise.finally(() => signal.removeEventListener('abort', kill));
}

/** SERVICE_UNAVAILABLE with the reason, which is in the last line of what a program says. */
export function noPicture(program: string, { complaint, exitCode }: ProgramEnd): AtmoError {
  const reason = complaint.split('\n').at(-1) ?? '';
  return new AtmoError(
    'SERVICE_UNAVAILABLE',
    `The camera gave no picture: ${reason === '' ? `${program} ended with ${exitCode}` : reason}`,
  );
}

function passedOn(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(PASSED_ON.filter((name) => env[name] !== undefined).map((name) => [name, env[name]]));
}

function notStarted(program: string, { message }: Error): AtmoError {
  return new AtmoError('NOT_SUPPORTED', `${program} cannot be started; is it installed? (${message})`, { program });
}

function tooMuch(program: string, maxBytes: number): AtmoError {
  return new AtmoError('PAYLOAD_TOO_LARGE', `What ${program} makes is larger than ${maxBytes} bytes; ask for a smaller resolution`, {
    max_bytes: maxBytes,
  });
}
