import type { TokenRecord } from '../core/auth/principal.ts';
import { repeat } from '../core/clock.ts';
import type { HubContext } from '../core/context.ts';
import { toAtmoError } from '../core/errors.ts';
import { BACKUP_OVERDUE, type HubProblems } from '../core/health.ts';
import type { Service } from '../core/lifecycle.ts';
import { plain } from '../core/untrusted-text.ts';
import type { NoticePublisher, Subject } from './notice-publisher.ts';
import type { CertificateOf } from './texts/notice-texts.ts';

const DAY_MS = 86_400_000;
const CHECK_MS = 15 * 60_000;
/** Delay of the first check after the start, in milliseconds. Devices and the mesh have started by then. */
const FIRST_CHECK_MS = 30_000;
const WARN_TOKEN_MS = 7 * DAY_MS;
const WARN_CERTIFICATE_MS = 14 * DAY_MS;
/** The disk is nearly full below this many free bytes, and no longer above the second number. */
const LOW_BYTES = 512 * 1_048_576;
const ENOUGH_BYTES = 768 * 1_048_576;

/** A certificate on which the hub depends. */
export interface EndingCertificate {
  readonly of: CertificateOf;
  readonly endsAtMs: number;
  /** Why the hub could not get or renew the certificate of its name. The notice is then published at once, whenever the certificate ends. */
  readonly problem?: string;
}

/** An update that can be installed. */
export interface OfferedUpdate {
  readonly device: string;
  readonly name: string;
  readonly version: string;
}

interface HubNoticeCollaborators extends Pick<HubContext, 'clock' | 'logger'> {
  readonly time: Pick<HubContext['time'], 'now'>;
  readonly publisher: Pick<NoticePublisher, 'begin' | 'end' | 'endMissing'>;
  readonly tokens: { list(): readonly TokenRecord[] };
  /** Ids of the tokens of agents that run on this hub. Notices about these agents tell about the end of their tokens. */
  readonly agentTokens: () => ReadonlySet<string>;
  readonly certificates: () => readonly EndingCertificate[];
  readonly problems: Pick<HubProblems, 'about'>;
  readonly updates: () => Promise<readonly OfferedUpdate[]>;
  /** Returns the version of the hub that is newer than the one that runs, if one is known. */
  readonly newerHub: () => string | undefined;
  /** Returns the last upgrade of the hub if it was not kept. */
  readonly wentBack: () => { readonly version: string; readonly isPossible: boolean } | undefined;
  /** Returns the free bytes of the disk with the hub's state. */
  readonly freeBytes: () => Promise<number>;
}

/** Publishes what the hub itself needs: tokens and certificates that end, backups, updates and disk space. */
export class HubNotices implements Service {
  readonly #collaborators: HubNoticeCollaborators;
  #stops: readonly (() => void)[] = [];
  #check: Promise<void> = Promise.resolve();

  constructor(collaborators: HubNoticeCollaborators) {
    this.#collaborators = collaborators;
  }

  async start(): Promise<void> {
    const { clock } = this.#collaborators;
    const check = () => {
      this.#check = this.check();
    };
    this.#stops = [clock.after(FIRST_CHECK_MS, check), repeat(clock, CHECK_MS, check)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops) stop();
    await this.#check;
  }

  /** Looks at everything once. Never rejects: what cannot be looked at now is looked at by the next check. */
  async check(): Promise<void> {
    const steps = [() => this.#checkTokens(), () => this.#checkCertificates(), () => this.#checkBackup()];
    for (const step of [...steps, () => this.#checkUpdates(), () => this.#checkDisk()]) {
      try {
        await step();
      } catch (thrown) {
        this.#collaborators.logger.warn('notices.check_failed', { problem: toAtmoError(thrown).message });
      }
    }
  }

  #checkTokens(): void {
    const { tokens, time, agentTokens } = this.#collaborators;
    const all = tokens.list();
    const ending = endingTokens(all, time.now()).filter(({ id }) => !agentTokens().has(id));
    this.#publish(
      'token',
      ending.map(({ id, agentId, expiresAtMs }) => ({
        kind: 'token',
        name: `token/${id}`,
        write: ({ token }) => ({ title: token.title, text: token.text(plain(agentId), expiresAtMs) }),
        path: '/#/tokens',
      })),
    );
  }

  #checkCertificates(): void {
    const { certificates, time } = this.#collaborators;
    const all = certificates();
    const ending = all.filter(({ endsAtMs }) => endsAtMs - time.now() <= WARN_CERTIFICATE_MS);
    const problem = all.find((one) => one.problem !== undefined)?.problem;
    this.#publish('certificate', [
      ...ending.map(
        ({ of, endsAtMs }): Subject => ({
          kind: 'certificate',
          name: `certificate/${of}`,
          write: ({ certificate }) => ({ title: certificate.title, text: certificate.text[of](endsAtMs) }),
          path: '/#/settings',
        }),
      ),
      ...(problem === undefined ? [] : [notRenewed(problem)]),
    ]);
  }

  #checkBackup(): void {
    const line = this.#collaborators.problems.about(BACKUP_OVERDUE);
    const subjectOf = (problem: string): Subject => ({
      kind: 'backup',
      name: 'backup/overdue',
      write: ({ backup }) => ({ title: backup.title, text: backup.text(problem) }),
      path: '/#/settings',
    });
    this.#publish('backup', line === undefined ? [] : [subjectOf(line)]);
  }

  async #checkUpdates(): Promise<void> {
    const offers = await this.#collaborators.updates();
    const newer = this.#collaborators.newerHub();
    const ofHub: readonly Subject[] =
      newer === undefined
        ? []
        : [
            {
              kind: 'update',
              name: `update/hub/${newer}`,
              write: ({ update }) => ({ title: update.title, text: update.hub(plain(newer)) }),
              path: '/#/settings',
            },
          ];
    const back = this.#collaborators.wentBack();
    this.#publish('update', [
      ...ofHub,
      ...(back ? [notKept(back)] : []),
      ...offers.map(
        ({ device, name, version }): Subject => ({
          kind: 'update',
          name: `update/${device}/${version}`,
          write: ({ update }) => ({ title: update.title, text: update.text(plain(name), plain(version)) }),
          path: `/#/devices/${device}`,
        }),
      ),
    ]);
  }

  async #checkDisk(): Promise<void> {
    const { freeBytes, publisher } = this.#collaborators;
    const free = await freeBytes();
    const name = 'disk/state';
    if (free >= ENOUGH_BYTES) publisher.end(name);
    if (free >= LOW_BYTES) return;
    const freeMiB = Math.floor(free / 1_048_576);
    const write: Subject['write'] = ({ disk }) => ({ title: disk.title, text: disk.text(freeMiB) });
    publisher.begin({ kind: 'disk', name, write, path: '/#/settings' });
  }

  /** Publishes the subjects that are there, and ends the other open notices of the kind. */
  #publish(kind: Subject['kind'], subjects: readonly Subject[]): void {
    const { publisher } = this.#collaborators;
    for (const subject of subjects) publisher.begin(subject);
    publisher.endMissing(kind, new Set(subjects.map(({ name }) => name)));
  }
}

function notKept({ version, isPossible }: { readonly version: string; readonly isPossible: boolean }): Subject {
  return {
    kind: 'update',
    name: `update/not-kept/${version}`,
    write: ({ update: { notKept: texts } }) => ({ title: texts.title, text: texts.text(plain(version), isPossible) }),
    path: '/#/settings',
  };
}

function notRenewed(problem: string): Subject {
  return {
    kind: 'certificate',
    name: 'certificate/not-renewed',
    write: ({ certificate: { notRenewed: texts } }) => ({ title: texts.title, text: texts.text(problem) }),
    path: '/#/settings',
  };
}

/**
 * Returns the tokens that end soon and that nobody has replaced: tokens of the owner, not those that agents gave to agents. A token that
 * lasts less than two days is never announced, since it is meant to end.
 */
function endingTokens(tokens: readonly TokenRecord[], nowMs: number): readonly TokenRecord[] {
  const valid = tokens.filter(
    ({ revokedAtMs, expiresAtMs, parent }) => revokedAtMs === undefined && expiresAtMs > nowMs && parent === undefined,
  );
  return valid.filter(({ id, agentId, issuedAtMs, expiresAtMs }) => {
    const lastsMs = expiresAtMs - issuedAtMs;
    const isReplaced = valid.some((other) => other.id !== id && other.agentId === agentId && other.expiresAtMs > expiresAtMs);
    return !isReplaced && lastsMs >= 2 * DAY_MS && expiresAtMs - nowMs <= Math.min(WARN_TOKEN_MS, lastsMs / 4);
  });
}
