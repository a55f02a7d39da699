import semver from 'semver';
import { isoTime, repeat } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import { isJsonObject, present, tryParseJson } from '../../core/json.ts';
import type { Service } from '../../core/lifecycle.ts';
import { READS_WHOLE_HUB } from '../../tools/builtin/hub-tool.ts';
import { defineTool, INSTANT, resultSchema, TEXT } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { FetchPublic } from './public-fetch.ts';

const DAY_MS = 86_400_000;
/** Delay of the first request after the start, in milliseconds. A hub that starts has other things to do. */
const FIRST_CHECK_MS = 60_000;
const LIMIT_MS = 30_000;
const MAX_BYTES = 16_384;
const NOTES_URL = /^https:\/\/\S{1,500}$/;

/** The newest version, as the document at the owner's address names it. */
interface NewestVersion {
  readonly version: string;
  /** Page of the release notes. */
  readonly notesUrl?: string;
}

interface VersionCheckParts extends Pick<HubContext, 'clock' | 'logger'> {
  readonly fetch: FetchPublic;
}

interface VersionCheckOptions {
  /** The version of the hub that runs. */
  readonly running: string;
  /** Address of the document; the hub asks nobody without it. */
  readonly url: string | undefined;
}

/** Asks once a day which version of the hub is the newest, if the owner named an address that knows it. Nothing is installed. */
export class VersionCheck implements Service {
  readonly #parts: VersionCheckParts;
  readonly #options: VersionCheckOptions;
  readonly #stop = new AbortController();
  #stops: readonly (() => void)[] = [];
  #running: Promise<void> = Promise.resolve();
  #newest: NewestVersion | undefined;
  #checkedAtMs: number | undefined;
  #problem: string | undefined;

  constructor(parts: VersionCheckParts, options: VersionCheckOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  async start(): Promise<void> {
    if (this.#options.url === undefined) return;
    const { clock } = this.#parts;
    const check = () => {
      this.#running = this.check();
    };
    this.#stops = [clock.after(FIRST_CHECK_MS, check), repeat(clock, DAY_MS, check)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#stop.abort(new AtmoError('SHUTTING_DOWN', 'The hub stops'));
    await this.#running;
  }

  /** Returns the newest version if it is newer than the one that runs. */
  newer(): NewestVersion | undefined {
    return this.#newest && semver.gt(this.#newest.version, this.#options.running) ? this.#newest : undefined;
  }

  /** Asks once. Never rejects: after a failure the last answer stays, and `status` tells the reason. */
  async check(): Promise<void> {
    const { clock, logger } = this.#parts;
    try {
      this.#newest = await this.#ask(this.#options.url ?? '');
      this.#checkedAtMs = clock.now();
      this.#problem = undefined;
    } catch (thrown) {
      this.#problem = toAtmoError(thrown).message;
      if (!this.#stop.signal.aborted) logger.warn('updates.not_checked', { problem: this.#problem });
    }
  }

  status() {
    const { running, url } = this.#options;
    const newer = this.newer();
    return {
      version: running,
      is_configured: url !== undefined,
      ...present({
        newer: newer?.version,
        notes_url: newer?.notesUrl,
        checked_at: this.#checkedAtMs === undefined ? undefined : isoTime(this.#checkedAtMs),
        problem: this.#problem,
      }),
    };
  }

  async #ask(url: string): Promise<NewestVersion> {
    const { clock, fetch } = this.#parts;
    const limit = new AbortController();
    const stopLimit = clock.after(LIMIT_MS, () => limit.abort(new AtmoError('TIMEOUT', 'No answer within 30 s')));
    try {
      const signal = AbortSignal.any([limit.signal, this.#stop.signal]);
      const { status, body } = await fetch({ url, signal, maxBytes: MAX_BYTES, accept: 'application/json' });
      if (status !== 200) throw new AtmoError('SERVICE_REFUSED', `The address of the version document answered with status ${status}`);
      return newestIn(new TextDecoder().decode(body));
    } finally {
      stopLimit();
    }
  }
}

function newestIn(text: string): NewestVersion {
  const document = tryParseJson(text);
  const { version, notes_url: notes } = isJsonObject(document) ? document : {};
  if (typeof version !== 'string' || semver.valid(version) === null) {
    throw new AtmoError('SERVICE_REFUSED', 'The version document is no JSON object with a version such as 1.2.3');
  }
  return { version, ...(typeof notes === 'string' && NOTES_URL.test(notes) && { notesUrl: notes }) };
}

/** Returns the tool that tells which version of the hub runs, and whether a newer one is there. */
export function versionTool(versions: VersionCheck): RegisteredTool {
  return defineTool(
    {
      ...READS_WHOLE_HUB,
      name: 'show_version',
      title: 'Version of the hub',
      description: 'Tells which version of the hub runs, and whether the version document that the owner named has a newer one.',
      tags: ['version', 'update', 'release'],
      parameters: {},
      returns: resultSchema(
        {
          version: TEXT,
          is_configured: { type: 'boolean', description: 'True if the owner named an address that knows newer versions' },
          newer: { ...TEXT, description: 'Version that is newer than the one that runs' },
          notes_url: TEXT,
          checked_at: INSTANT,
          problem: { ...TEXT, description: 'Why the last request told nothing' },
        },
        ['newer', 'notes_url', 'checked_at', 'problem'],
      ),
    },
    async () => versions.status(),
  );
}
