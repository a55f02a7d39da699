import type { KnownNames, RuleCheck } from '../core/auth/rules.ts';
import type { DeviceDescription } from '../core/devices/device-model.ts';
import type { BackupService } from '../core/storage/backup.ts';
import type { DraftFile, ProfileProblem } from '../profiles/files/profile-format.ts';
import type { CheckResult, HubPorts } from './doctor/check-result.ts';
import type { TextSink, Ticker } from './terminal/spinner.ts';

/** Everything outside that the CLI uses, so that tests run it without a process and without sockets. */
export interface CliIo {
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly stdin: AsyncIterable<string | Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Runs a hub until a signal ends it; resolves to the exit code. */
  readonly serve: () => Promise<number>;
  /** Checks these profile files, or all of the product and the owner. */
  readonly profileCheck: (files: readonly string[]) => Promise<readonly ProfileProblem[]>;
  /** Makes profile files for a device, ready to edit. */
  readonly profileDraft: (description: DeviceDescription) => Promise<readonly DraftFile[]>;
  /** Checks a rules file, and the names in it where those of a hub are known. */
  readonly rulesCheck: (file: string, known?: KnownNames) => Promise<RuleCheck>;
  /** Checks a configuration file, or the one that a hub of this environment would read. */
  readonly configCheck: (file?: string) => Promise<{ readonly file: string; readonly problem?: string }>;
  /** Sets the outputs of the configuration to their safe state; each as text, with the reason for those that failed. */
  readonly safeOutputs: () => Promise<{ readonly safe: readonly string[]; readonly missed: readonly string[] }>;
  /** Backups of the hub of this machine. */
  readonly stateArchive: () => Promise<BackupService>;
  /** Reads a line that is not shown from the terminal; undefined without a terminal. */
  readonly askSecret: (prompt: string) => Promise<string | undefined>;
  /** Checks the network of this machine. */
  readonly networkChecks: (ports: HubPorts) => Promise<readonly CheckResult[]>;
  /** Opens a file in the person's browser. */
  readonly openFile: (file: string) => Promise<void>;
  /** Waits; in tests it resolves at once. */
  readonly sleep: (ms: number) => Promise<unknown>;
  /** Ends commands that run for long, such as `events`. */
  readonly signal?: AbortSignal | undefined;
  /** Timer of the spinner; tests call it themselves. */
  readonly every?: Ticker;
}
