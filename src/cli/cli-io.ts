import type { DeviceDescription } from '../core/device-model.ts';

/** Where text goes. */
export interface TextSink {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/** A mistake in a profile file, with where it is and what mends it. */
export interface ProfileMistake {
  readonly file: string;
  /** JSON path in the file. */
  readonly path: string;
  readonly message: string;
}

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
  readonly profileCheck?: (files: readonly string[]) => Promise<readonly ProfileMistake[]>;
  /** A ready-to-edit profile file for a device. */
  readonly profileDraft?: (description: DeviceDescription) => Promise<string>;
  /** Ends what runs for long, such as `events`. */
  readonly signal?: AbortSignal;
  /** Waits; tests answer at once. */
  readonly sleep?: (ms: number) => Promise<void>;
}
