import type { KnownNames, RuleCheck } from '../core/auth/rules.ts';
import type { DeviceDescription } from '../core/devices/device-model.ts';
import type { BackupService } from '../core/storage/backup.ts';
import type { DraftFile, ProfileProblem } from '../profiles/files/profile-format.ts';
import type { CheckResult, HubPorts } from './doctor/check-result.ts';
import type { TextSink, Ticker } from './terminal/spinner.ts';

/** The system functions that the CLI uses. Tests replace them, and need no process and no socket. */
export interface CliIo {
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly stdin: AsyncIterable<string | Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Runs a hub until a signal ends it; resolves to the exit code. */
  readonly serve: () => Promise<number>;
  /** Checks the given profile files, or all profiles of the product and the owner if none is given. */
  readonly profileCheck: (files: readonly string[]) => Promise<readonly ProfileProblem[]>;
  /** Returns profile files for a device, ready to edit. */
  readonly profileDraft: (description: DeviceDescription) => Promise<readonly DraftFile[]>;
  /** Checks a rules file; with `known`, also the names of devices and agents in it. */
  readonly rulesCheck: (file: string, known?: KnownNames) => Promise<RuleCheck>;
  /** Checks a configuration file: without `file`, the file that a hub with these environment variables reads. */
  readonly configCheck: (file?: string) => Promise<{ readonly file: string; readonly problem?: string }>;
  /** Sets the configured outputs to their safe state. Returns a text for each output, with the reason if it failed. */
  readonly safeOutputs: () => Promise<{ readonly safe: readonly string[]; readonly missed: readonly string[] }>;
  /** Returns the service that backs up and restores the hub of this machine. */
  readonly stateArchive: () => Promise<BackupService>;
  /** Reads a line from the terminal without showing it; returns undefined without a terminal. */
  readonly askSecret: (prompt: string) => Promise<string | undefined>;
  readonly networkChecks: (ports: HubPorts) => Promise<readonly CheckResult[]>;
  readonly openFile: (file: string) => Promise<void>;
  /** Waits for a time; the fake in tests resolves at once. */
  readonly sleep: (ms: number) => Promise<unknown>;
  /** Ends commands that run until they are stopped, such as `events`. */
  readonly signal?: AbortSignal | undefined;
  /** Starts the timer of the spinner; tests trigger it themselves. */
  readonly every?: Ticker;
}
