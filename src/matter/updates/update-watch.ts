import type { SoftwareVersion } from '../../core/devices/software-update.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Clock } from '../../core/time/clock.ts';
import { pause } from '../../core/time/pause.ts';
import { versionText } from './image-fit.ts';
import type { UpdateCourse } from './update-course.ts';

/** What a device says of itself while it is updated. */
export interface SoftwareState {
  readonly version: SoftwareVersion;
  /** UpdateStateEnum by name (Core §11.20.7.4.2), such as `Applying`. */
  readonly state: string;
}

interface UpdateWatchParts {
  readonly clock: Clock;
  readonly course: UpdateCourse;
  /** Such as `Lamp`. */
  readonly device: string;
  /** Asks the device; DEVICE_UNREACHABLE when it does not answer. */
  ask(signal: AbortSignal): Promise<SoftwareState>;
}

type Step = UpdateCourse['step'];
/** What one question to the device showed. */
type Sign = 'silent' | 'idle' | 'busy' | 'done';

const LOOK_MS = 500;
/** How long a device may be quiet in a step until it is asked. */
const QUIET_MS: Readonly<Record<Step, number>> = { querying: 30_000, downloading: 8_000, applying: 2_000 };
/** One that downloads is awake, even if it sleeps at other times. */
const ANSWER_LIMIT_MS: Readonly<Record<Step, number>> = { querying: 40_000, downloading: 6_000, applying: 40_000 };
/** A device may wait for 10 minutes before it asks for the announced image (Core §11.20.7.6.1), and then takes its time to install it. */
const QUERY_LIMIT_MS = 11 * 60_000;
const DOWNLOAD_QUIET_LIMIT_MS = 6 * 60_000;
const APPLY_LIMIT_MS = 15 * 60_000;
/** One lost answer says nothing. */
const SIGNS_NEEDED = 2;
const IDLE_STATES: ReadonlySet<string> = new Set(['Idle', 'Unknown']);

/** Follows an update until the device itself tells its new version, or it is clear that it will not. */
export class UpdateWatch {
  readonly #with: UpdateWatchParts;
  #lastSeen = '';
  #inARow = 0;
  #askedAtMs = 0;
  #old: SoftwareVersion | undefined;

  constructor(parts: UpdateWatchParts) {
    this.#with = parts;
  }

  /** Answers the version that the device tells. Errors say how far it came and what it runs. */
  async outcome(signal: AbortSignal): Promise<SoftwareVersion> {
    const { course } = this.#with;
    for (;;) {
      signal.throwIfAborted();
      if (course.failure) throw course.failure;
      if (this.#isTimeToAsk()) {
        const said = await this.#ask(signal);
        if (said !== undefined) return said;
      }
      this.#refuseLateness();
      await pause(this.#with.clock, LOOK_MS, signal);
    }
  }

  #isTimeToAsk(): boolean {
    const { course, clock } = this.#with;
    const quietMs = QUIET_MS[course.step];
    return course.quietMs >= quietMs && clock.monotonic() - this.#askedAtMs >= Math.min(quietMs, QUIET_MS.downloading);
  }

  async #ask(signal: AbortSignal): Promise<SoftwareVersion | undefined> {
    const { sign, version } = await this.#sign(signal);
    this.#askedAtMs = this.#with.clock.monotonic();
    signal.throwIfAborted();
    if (sign === 'done') return version;
    this.#count(sign);
    if (this.#inARow >= SIGNS_NEEDED) this.#judge(sign);
    return undefined;
  }

  async #sign(signal: AbortSignal): Promise<{ readonly sign: Sign; readonly version?: SoftwareVersion }> {
    const { course, clock, ask } = this.#with;
    const late = new AbortController();
    const cancel = clock.after(ANSWER_LIMIT_MS[course.step], () => late.abort());
    try {
      const { version, state } = await ask(AbortSignal.any([signal, late.signal]));
      if (version.number === course.image.version.number) return { sign: 'done', version };
      this.#old = version;
      return { sign: IDLE_STATES.has(state) ? 'idle' : 'busy' };
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      return { sign: error.code === 'DEVICE_UNREACHABLE' || late.signal.aborted ? 'silent' : 'busy' };
    } finally {
      cancel();
    }
  }

  /** Signs add up only as long as the device stays where it is. */
  #count(sign: Sign): void {
    const { step, bytes } = this.#with.course;
    const seen = `${sign} ${step} ${bytes}`;
    this.#inARow = seen === this.#lastSeen ? this.#inARow + 1 : 1;
    this.#lastSeen = seen;
  }

  #judge(sign: Sign): void {
    const { course, device } = this.#with;
    const { step } = course;
    const how = step === 'downloading' ? ` after ${course.bytes} of ${course.image.blob.size} bytes of the download` : '';
    if (sign === 'silent' && step !== 'applying')
      throw this.#error('DEVICE_UNREACHABLE', `${device} stopped answering${how}${this.#still()}; start the update again once it is back`);
    if (sign === 'idle' && step === 'downloading')
      throw this.#error('CLUSTER_STATUS', `${device} gave up${how}${this.#still()}; start the update again`);
    if (sign === 'idle' && step === 'applying')
      throw this.#error('CLUSTER_STATUS', `${device} took the image and did not install it${this.#still()}; its manufacturer may know why`);
  }

  #refuseLateness(): void {
    const { course, device } = this.#with;
    const { step, stepMs, quietMs } = course;
    if (step === 'querying' && stepMs >= QUERY_LIMIT_MS)
      throw this.#error('TIMEOUT', `${device} was told of the image and did not come for it within 11 minutes`);
    if (step === 'downloading' && quietMs >= DOWNLOAD_QUIET_LIMIT_MS)
      throw this.#error('TIMEOUT', `${device} answers, but does not go on with the download after ${course.bytes} bytes${this.#still()}`);
    if (step === 'applying' && stepMs >= APPLY_LIMIT_MS)
      throw this.#error(
        'OUTCOME_UNKNOWN',
        `${device} began to install the image and did not tell a new version within 15 minutes; look at it`,
      );
  }

  #error(code: 'DEVICE_UNREACHABLE' | 'CLUSTER_STATUS' | 'TIMEOUT' | 'OUTCOME_UNKNOWN', message: string): AtmoError {
    const { course } = this.#with;
    return new AtmoError(code, message, { file: course.image.file, step: course.step, bytes: course.bytes });
  }

  #still(): string {
    return this.#old ? `, and runs version ${versionText(this.#old)}` : '';
  }
}
