import { type ChildProcess, spawn } from 'node:child_process';
import { AtmoError } from '../../core/errors.ts';
import { redact } from '../../core/logger.ts';
import { visibleText } from '../../core/untrusted-text.ts';
import type { DnsRecord, DnsRecords } from './acme-order.ts';

interface DnsCommandOptions {
  /** Program with its arguments. It runs without a shell. */
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Default: two minutes. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 120_000;
const MAX_COMPLAINT = 300;
/** The only environment variables of the hub that the command receives. The hub's other variables may contain secrets. */
const PASSED_VARIABLES = ['PATH', 'HOME', 'LANG'];

/**
 * Runs the owner's command for each DNS record. The command gets `ATMO_DNS_ACTION` (`add` or `remove`), `ATMO_DNS_NAME` and
 * `ATMO_DNS_VALUE` as environment variables. Its exit status 0 means that it succeeded.
 */
export class DnsCommand implements DnsRecords {
  readonly #options: DnsCommandOptions;

  constructor(options: DnsCommandOptions) {
    this.#options = options;
  }

  add(record: DnsRecord, signal: AbortSignal): Promise<void> {
    return this.#run('add', record, signal);
  }

  remove(record: DnsRecord, signal: AbortSignal): Promise<void> {
    return this.#run('remove', record, signal);
  }

  async #run(action: 'add' | 'remove', { name, value }: DnsRecord, signal: AbortSignal): Promise<void> {
    const { command, env, timeoutMs = TIMEOUT_MS } = this.#options;
    const [program = '', ...args] = command;
    const passed = Object.fromEntries(PASSED_VARIABLES.flatMap((key) => (env[key] === undefined ? [] : [[key, env[key]]])));
    const variables = { ATMO_DNS_ACTION: action, ATMO_DNS_NAME: name, ATMO_DNS_VALUE: value };
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    limit.throwIfAborted();
    // A group of its own, so that what the command started ends with it.
    const child = spawn(program, args, { env: { ...passed, ...variables }, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'], detached: true });
    const outcome = await outcomeOf(child, limit);
    signal.throwIfAborted();
    if (outcome !== undefined)
      throw commandFailed(`${program} (${action} ${name})`, limit.aborted ? `it took longer than ${timeoutMs} ms` : outcome);
  }
}

/** Waits until the command ends. Returns why it failed; undefined if it succeeded. */
function outcomeOf(child: ChildProcess, limit: AbortSignal): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  let complaint = '';
  const kill = () => {
    killGroup(child.pid);
    resolve('it was stopped');
  };
  limit.addEventListener('abort', kill, { once: true });
  child.stderr?.on('data', (part: Buffer) => {
    complaint = (complaint + part.toString('utf8')).slice(-MAX_COMPLAINT);
  });
  child.once('error', ({ message }) => resolve(`it cannot be started (${message})`));
  child.once('close', (exitCode, ended) => {
    if (exitCode === 0) return resolve(undefined);
    // Programs for DNS often quote the request that failed, with its key.
    const last = visibleText(String(redact(complaint.trim().split('\n').at(-1) ?? '')));
    resolve(`it ended with ${exitCode ?? ended}${last === '' ? '' : `: ${last}`}`);
  });
  return promise.finally(() => limit.removeEventListener('abort', kill));
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The command ended by itself in the meantime.
  }
}

function commandFailed(what: string, reason: string): AtmoError {
  return new AtmoError('SERVICE_REFUSED', `The command for DNS records failed: ${what}: ${reason}`);
}
