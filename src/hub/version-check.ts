import semver from 'semver';
import type { FetchPublic } from '../connectors/web/public-fetch.ts';
import { isoTime, repeat } from '../core/clock.ts';
import type { HubContext } from '../core/context.ts';
import { AtmoError, toAtmoError } from '../core/errors.ts';
import type { HubProblems } from '../core/health.ts';
import { type Json, objectOf, present, tryParseJson } from '../core/json.ts';
import type { Service } from '../core/lifecycle.ts';
import { READS_WHOLE_HUB } from '../tools/builtin/hub-tool.ts';
import { defineTool, INSTANT, resultSchema, TEXT } from '../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../tools/definition/tool-definition.ts';
import { debianVersion, UPGRADE_REASONS, type UpgradeReason, type UpgradeRecord } from './upgrade-record.ts';

const DAY_MS = 86_400_000;
/** Delay of the first request after the start, in milliseconds. A hub that starts has other things to do. */
const FIRST_CHECK_MS = 60_000;
const MAX_BYTES = 16_384;
const MAX_NOTES_CHARS = 500;
/** Where the last answer is kept. */
const SPACE = 'updates.hub';
const KEY = 'newest';

/** The newest version, as the document at the owner's address names it. */
interface NewestVersion {
  readonly version: string;
  /** Page of the release notes. */
  readonly notesUrl?: string;
}

interface VersionCheckParts extends Pick<HubContext, 'clock' | 'logger' | 'store'> {
  readonly fetch: FetchPublic;
  /** Returns how the last upgrade of the hub's package went; undefined if none is known. */
  readonly upgrade: () => UpgradeRecord | undefined;
  readonly problems: Pick<HubProblems, 'raise'>;
}

/** An upgrade of the hub that was not kept. */
export interface WentBack {
  /** The version that did not come up, or that the owner did not want. */
  readonly version: string;
  readonly reason: UpgradeReason;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** False if there was no way back, so that the version stays installed. */
  readonly isPossible: boolean;
}

interface VersionCheckOptions {
  /** The version of the hub that runs. */
  readonly running: string;
  /** URL of the document that names the newest version; undefined if the hub does not look for one. */
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
    const back = this.wentBack();
    if (back) this.#parts.problems.raise('upgrade', problemOf(back, this.#options.running));
    if (this.#options.url === undefined) return;
    this.#recall();
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

  /** Returns the last upgrade if it was not kept. */
  wentBack(): WentBack | undefined {
    const record = this.#parts.upgrade();
    if (record?.reason === undefined || record.atMs === undefined) return undefined;
    return { version: record.to, reason: record.reason, atMs: record.atMs, isPossible: record.step !== 'stayed' };
  }

  /** Fetches the document once. Never rejects: after a failure the last answer stays, and `status` returns the reason. */
  async check(): Promise<void> {
    const { clock, logger } = this.#parts;
    try {
      this.#newest = await this.#ask(this.#options.url ?? '');
      this.#checkedAtMs = clock.now();
      this.#keep(this.#newest, this.#checkedAtMs);
      this.#problem = undefined;
    } catch (thrown) {
      this.#problem = toAtmoError(thrown).message;
      if (!this.#stop.signal.aborted) logger.warn('updates.not_checked', { problem: this.#problem });
    }
  }

  status() {
    const { running, url } = this.#options;
    const newer = this.newer();
    const back = this.wentBack();
    const record = this.#parts.upgrade();
    return {
      version: running,
      is_configured: url !== undefined,
      ...present({
        newer: newer?.version,
        notes_url: newer?.notesUrl,
        checked_at: this.#checkedAtMs === undefined ? undefined : isoTime(this.#checkedAtMs),
        problem: this.#problem,
        before: record?.step === 'settled' && record.to === debianVersion(running) ? record.from : undefined,
        went_back: back && { version: back.version, reason: back.reason, at: isoTime(back.atMs), is_possible: back.isPossible },
      }),
    };
  }

  async #ask(url: string): Promise<NewestVersion> {
    const request = { url, signal: this.#stop.signal, maxBytes: MAX_BYTES, accept: 'application/json' };
    const { status, body } = await this.#parts.fetch(request);
    if (status !== 200) throw new AtmoError('SERVICE_REFUSED', `The address of the version document answered with status ${status}`);
    const newest = newestIn(tryParseJson(new TextDecoder().decode(body)));
    if (newest) return newest;
    throw new AtmoError('SERVICE_REFUSED', 'The version document is no JSON object with a version such as 1.2.3');
  }

  #keep({ version, notesUrl }: NewestVersion, atMs: number): void {
    const { url = '' } = this.#options;
    this.#parts.store.set(SPACE, KEY, present({ url, at_ms: atMs, version, notes_url: notesUrl }));
  }

  /** Takes up the last answer of this address, so that a hub that starts again does not tell people once more what they know. */
  #recall(): void {
    const kept = objectOf(this.#parts.store.get(SPACE, KEY));
    if (kept.url !== this.#options.url || typeof kept.at_ms !== 'number') return;
    this.#newest = newestIn(kept);
    this.#checkedAtMs = kept.at_ms;
  }
}

/** Returns what a document names as the newest version; undefined if it names none. */
function newestIn(document: Json | undefined): NewestVersion | undefined {
  const { version: named, notes_url: notes } = objectOf(document);
  const version = typeof named === 'string' ? semver.valid(named) : null;
  return version === null ? undefined : { version, ...present({ notesUrl: typeof notes === 'string' ? webPage(notes) : undefined }) };
}

/** Returns the address of a page as a browser writes it, so that nothing in it looks like something else; undefined if it is none. */
function webPage(text: string): string | undefined {
  const url = URL.parse(text);
  const isPlain = url?.protocol === 'https:' && url.username === '' && url.password === '' && url.href.length <= MAX_NOTES_CHARS;
  return isPlain ? url.href : undefined;
}

const WENT_BACK = resultSchema({
  version: { ...TEXT, description: 'Version that was not kept' },
  reason: { enum: [...UPGRADE_REASONS], description: 'ended: it ended again and again; no_answer: its health page did not answer in time' },
  at: INSTANT,
  is_possible: { type: 'boolean', description: 'False if there was no way back, so that the version stays installed' },
});

/** Returns the line about an upgrade that was not kept, for `/healthz` and `atmo status`. */
function problemOf({ version, reason, atMs, isPossible }: WentBack, running: string): string {
  const why = reason === 'owner' ? 'as the owner wanted' : 'because it did not come up';
  const outcome = isPossible ? `${running} runs again` : 'there was no way back to the version before';
  return `The upgrade to ${version} was not kept at ${isoTime(atMs)}, ${why}: ${outcome}. journalctl -u atmosphere-edge-upgrade says more`;
}

/** Returns the tool `show_version`, which returns the running version and, if one is known, a newer one. */
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
          before: { ...TEXT, description: 'Version before the last upgrade of the package' },
          went_back: { ...WENT_BACK, description: 'The last upgrade of the package, if it was not kept' },
        },
        ['newer', 'notes_url', 'checked_at', 'problem', 'before', 'went_back'],
      ),
    },
    async () => versions.status(),
  );
}
