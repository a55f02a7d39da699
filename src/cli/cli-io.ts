import type { KnownNames, RuleCheck } from '../core/auth/rules.ts';
import type { DeviceDescription } from '../core/devices/device-model.ts';
import type { BackupService } from '../core/storage/backup.ts';
import type { CheckSection, HubPorts } from '../doctor/check-result.ts';
import type { DraftFile, ProfileProblem } from '../profiles/files/profile-format.ts';
import type { TypedLine } from './terminal/line-prompt.ts';
import type { TextSink, Ticker } from './terminal/spinner.ts';

/** How the last upgrade of the hub's package went. */
export interface UpgradeOutcome {
  readonly step: string;
  readonly from: string;
  readonly to: string;
}

/** The system functions that every command may use, on any machine. Tests replace them, so a test starts no process and opens no socket. */
export interface CliIo {
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly stdin: AsyncIterable<string | Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Reads a line from the terminal without showing it. Returns undefined if there is no terminal. */
  readonly askSecret: (prompt: string) => Promise<string | undefined>;
  /** Reads a line from the terminal, which shows it. Returns undefined if there is no terminal. */
  readonly askLine: (prompt: string) => Promise<TypedLine | undefined>;
  /** Returns the checks of `atmo doctor` that look at this machine. `ports` are those of its hub. */
  readonly machineChecks: (ports: HubPorts) => Promise<readonly CheckSection[]>;
  readonly openFile: (file: string) => Promise<void>;
  /** Waits for this many milliseconds. In tests it resolves at once. */
  readonly sleep: (ms: number) => Promise<unknown>;
  /** Signal that ends commands which otherwise run forever, such as `events`. */
  readonly signal?: AbortSignal | undefined;
  /** Starts the timer of the spinner. Tests trigger the timer themselves. */
  readonly every?: Ticker;
}

/** What commands need that run on the machine of the hub alone. The client package has none of it. */
export interface HubMachineIo extends CliIo {
  /** Runs a hub until a signal ends it. Resolves with the exit code. */
  readonly serve: () => Promise<number>;
  /** Checks the given profile files. If no files are given, checks all profiles of the product and of the owner. */
  readonly profileCheck: (files: readonly string[]) => Promise<readonly ProfileProblem[]>;
  /** Drafts profile files for a device. A person then edits the files. */
  readonly profileDraft: (description: DeviceDescription) => Promise<readonly DraftFile[]>;
  /** Checks a rules file. If `known` is given, also returns a warning for each device, area or other name that `known` lacks. */
  readonly rulesCheck: (file: string, known?: KnownNames) => Promise<RuleCheck>;
  /** Checks a configuration file. Without `file`, checks the file that a hub with the same environment variables would read. */
  readonly configCheck: (file?: string) => Promise<{ readonly file: string; readonly problem?: string }>;
  /** Sets the configured outputs to their safe state. `safe` lists the outputs that were set, `missed` lists the failures. */
  readonly safeOutputs: () => Promise<{ readonly safe: readonly string[]; readonly missed: readonly string[] }>;
  /** Upgrades of the hub's package on this machine. Throws PERMISSION_DENIED unless root runs it. */
  readonly upgrade: Readonly<Record<'watch' | 'goBack', () => Promise<UpgradeOutcome | undefined>>>;
  /** Returns the service that backs up and restores the hub of this machine. */
  readonly stateArchive: () => Promise<BackupService>;
}
