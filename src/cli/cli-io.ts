import type { KnownNames, RuleCheck } from '../core/auth/rules.ts';
import type { DeviceDescription } from '../core/devices/device-model.ts';
import type { BackupService } from '../core/storage/backup.ts';
import type { ProfileProblem } from '../profiles/check/profile-problem.ts';
import type { DraftFile } from '../profiles/files/profile-format.ts';
import type { CheckResult, HubPorts } from './doctor/check-result.ts';
import type { TextSink, Ticker } from './terminal/spinner.ts';

/** Everything of the world that the CLI touches, so that tests run it without a process and without sockets. */
export interface CliIo {
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly stdin: AsyncIterable<string | Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Runs a hub until a signal ends it; answers the exit code. */
  readonly serve: () => Promise<number>;
  /** Checks these profile files, or all that the product and the owner have. */
  readonly profileCheck?: (files: readonly string[]) => Promise<readonly ProfileProblem[]>;
  /** Ready-to-edit profile files for a device. */
  readonly profileDraft?: (description: DeviceDescription) => Promise<readonly DraftFile[]>;
  /** Checks a rules file, and the names in it where a hub told which there are. */
  readonly rulesCheck?: (file: string, known?: KnownNames) => Promise<RuleCheck>;
  /** Checks a configuration file, or the one that a hub of this environment would read. */
  readonly configCheck?: (file?: string) => Promise<{ readonly file: string; readonly problem?: string }>;
  /** Sets the outputs of the configuration to their safe state; each as text, what could not be set with the reason. */
  readonly safeOutputs?: () => Promise<{ readonly safe: readonly string[]; readonly missed: readonly string[] }>;
  /** Backups of the hub of this machine. */
  readonly stateArchive?: () => Promise<BackupService>;
  /** Asks at the terminal for a line that is not shown; undefined where there is none. */
  readonly askSecret?: (prompt: string) => Promise<string | undefined>;
  /** What the doctor finds about the network of this machine. */
  readonly networkChecks?: (ports: HubPorts) => Promise<readonly CheckResult[]>;
  /** Shows a file in the person's browser. */
  readonly openFile?: (file: string) => Promise<void>;
  /** Ends what runs for long, such as `events`. */
  readonly signal?: AbortSignal | undefined;
  /** Waits; tests answer at once. */
  readonly sleep?: (ms: number) => Promise<void>;
  /** Moves the spinner; tests tick it themselves. */
  readonly every?: Ticker;
}
