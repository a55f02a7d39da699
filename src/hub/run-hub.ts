import { type Clock, systemClock } from '../core/clock.ts';
import { type AtmoError, ERROR_CODES, toAtmoError } from '../core/errors.ts';
import type { Service } from '../core/lifecycle.ts';
import { createLogger, LogBuffer, type Logger, type LogLevel, type LogThreshold } from '../core/logger.ts';
import { packageVersion } from '../core/package-files.ts';
import { defaultStateDirectory } from '../storage/state-directory.ts';
import { finishInterruptedRestore } from '../storage/state-lock.ts';
import { type LiveConfig, liveConfig } from './config/live-config.ts';
import type { MemoryProfile } from './config/memory-profile.ts';
import { answersHttp, ServiceManager, Watchdog } from './systemd.ts';
import { noteStart } from './upgrade-record.ts';

const LIVENESS_TIMEOUT_MS = 5_000;
/** Milliseconds after a stop signal until the process exits by force. A stop takes a second; a card that writes slowly may take longer. */
const STOP_LIMIT_MS = 20_000;

/** A hub that can be started. Its URLs are known after the start. */
interface RunnableHub extends Service {
  readonly url: string;
  /** The plain-HTTP URL for clients on this machine. */
  readonly localUrl: string;
}

type MakeHub = (
  parts: { readonly clock: Clock; readonly logger: Logger },
  options: { readonly config: LiveConfig; readonly version: string },
) => RunnableHub;

/**
 * Runs a hub in the foreground until SIGTERM or SIGINT. Prints READY when the hub responds. Resolves with the exit code. If the memory profile
 * of the configuration has flags or variables that this process runs without, it is replaced by one with them.
 */
export async function runHub(env: NodeJS.ProcessEnv, makeHub: MakeHub): Promise<number> {
  const stopSignal = waitForSignal();
  const lines = new LogBuffer((text) => process.stderr.write(text));
  process.on('exit', () => lines.flush());
  const loggerOf = (lowest: LogLevel | LogThreshold) => createLogger(lowest, (line, lineLevel) => lines.add(line, lineLevel));
  let logger = loggerOf('info');
  try {
    const stateDir = defaultStateDirectory(env);
    await finishInterruptedRestore(stateDir);
    const config = liveConfig(env, stateDir);
    logger = loggerOf(config.log);
    adoptMemoryProfile(config.memory);
    const problem = config.problem();
    if (problem !== undefined) logger.error('config.refused', { reason: problem });
    // SIGHUP reloads the configuration. At a terminal it means that the terminal was closed, so the process ends instead.
    if (process.stdin.isTTY !== true) process.on('SIGHUP', () => reload(config, logger));
    const manager = new ServiceManager(env, logger);
    const hub = makeHub({ clock: systemClock, logger }, { config, version: packageVersion() });
    await hub.start();
    config.keep();
    const watchdog = new Watchdog({
      manager,
      isAlive: answersHttp(`${hub.localUrl}/healthz`, LIVENESS_TIMEOUT_MS),
      clock: systemClock,
      logger,
    });
    await watchdog.start();
    if (config.upgradeDir !== undefined) noteStart(stateDir, { localUrl: hub.localUrl, tookMs: performance.now() });
    await manager.ready(`answers on ${hub.url}`);
    process.stdout.write(`READY ${hub.url}\n`);
    await stopSignal;
    await manager.stopping();
    await watchdog[Symbol.asyncDispose]();
    await hub[Symbol.asyncDispose]();
    return 0;
  } catch (thrown) {
    return refuse(toAtmoError(thrown), logger);
  } finally {
    // After its close, matter.js may leave handles open that keep the process alive.
    setTimeout(() => process.exit(), 200).unref();
  }
}

/**
 * Replaces this process by one with the flags and variables of its memory profile (execve(2)), unless it has them. The process id stays, so
 * that systemd still knows its main process.
 */
function adoptMemoryProfile({ nodeFlags, environment }: MemoryProfile): void {
  const missing = nodeFlags.filter((flag) => !process.execArgv.includes(flag));
  const isSet = Object.entries(environment).every(([name, value]) => process.env[name] === value);
  if (missing.length === 0 && isSet) return;
  const line = [process.execPath, ...process.execArgv, ...missing, ...process.argv.slice(1)];
  process.execve?.(process.execPath, line, { ...process.env, ...environment });
}

/** Reloads the configuration. If the file has mistakes, logs them and changes nothing. */
function reload(config: LiveConfig, logger: Logger): void {
  try {
    const { applied, needsRestart } = config.reload();
    logger.info('config.reloaded', { applied: [...applied], needs_restart: [...needsRestart] });
  } catch (error) {
    logger.error('config.not_reloaded', { reason: toAtmoError(error).message });
  }
}

function waitForSignal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isStopping = false;
  const stop = () => {
    if (isStopping) process.exit(1);
    isStopping = true;
    setTimeout(() => process.exit(1), STOP_LIMIT_MS).unref();
    resolve();
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
  return promise;
}

function refuse(error: AtmoError, logger: Logger): number {
  const cause = error.cause instanceof Error ? (error.cause.stack ?? '') : '';
  logger.error('hub.stopped', { code: error.code, message: error.message, ...(error.code === 'INTERNAL_ERROR' && { stack: cause }) });
  return ERROR_CODES[error.code].exitCode;
}
