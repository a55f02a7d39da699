import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../bundle.ts';

/** Long enough for what a hub does on its own every few seconds, too short for its rounds of half a minute. */
const IDLE_MS = 12_000;
/** What follows an answer, such as the entry of the audit log, is part of what was done. */
const SETTLE_MS = 300;
/** After this time nothing of the warm-up runs any more. */
const WARM_UP_MS = 3_000;
/** A file counts when it ran each time: what the hub does on its own once in a while falls out. */
const RUNS = 3;

/** The hub from its sources, as arguments of Node. */
export const HUB_FROM_SOURCE: readonly string[] = [join(ROOT, 'src/main.ts'), 'serve'];

/** The environment of a hub that is observed through the socket. */
export function observedEnvironment(socketPath: string): Readonly<Record<string, string>> {
  return { COVERAGE_SOCKET: socketPath, NODE_OPTIONS: `--import=${join(import.meta.dirname, 'coverage-probe.ts')}` };
}

/** Sources that ran each time. */
export interface FilesRun {
  /** Not while the hub was idle. */
  readonly own: readonly string[];
  /** Also while it was idle, such as those of a timer or of the transport. */
  readonly alsoIdle: readonly string[];
}

/** Which sources of a hub run, by the coverage that V8 counts. */
export class ObservedHub {
  readonly #socketPath: string;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  /** The sources that run each time when `action` is done. It is done once before, for what is loaded late. */
  async filesOf(action: (run: number) => Promise<void>): Promise<FilesRun> {
    await action(0);
    await sleep(WARM_UP_MS);
    await this.#take();
    await sleep(IDLE_MS);
    const idle = await this.#take();
    let files: ReadonlySet<string> | undefined;
    for (let run = 1; run <= RUNS; run++) {
      await this.#take();
      await action(run);
      await sleep(SETTLE_MS);
      const ran = await this.#take();
      files = files?.intersection(ran) ?? ran;
    }
    const ran = [...(files ?? [])];
    return { own: ran.filter((file) => !idle.has(file)), alsoIdle: ran.filter((file) => idle.has(file)) };
  }

  /** The sources of which a function ran since the last look. */
  async #take(): Promise<ReadonlySet<string>> {
    const connection = connect(this.#socketPath);
    await once(connection, 'connect');
    return new Set(JSON.parse(await text(connection)) as readonly string[]);
  }
}
