import { type Clock, pause } from '../../core/clock.ts';
import type { SoftwareVersion, UpdateProgress } from '../../core/devices/device-administration.ts';
import { AtmoError } from '../../core/errors.ts';
import { incompatibilityOf, type NodeSoftware, type UpdateImage, versionText } from './update-images.ts';

/** What a device asks with when it looks for an image (QueryImage, Core §11.20.6.5.1). */
export interface ImageQuery {
  readonly vendorId: number;
  readonly productId: number;
  readonly softwareVersion: number;
  /** DownloadProtocolEnum: 0 is BDX over this session. */
  readonly protocolsSupported: readonly number[];
}

/** What it is told: the image, that there is none, or that it speaks no protocol of ours. */
export type ImageAnswer = 'offered' | 'none' | 'no-protocol';

const BDX_SYNCHRONOUS = 0;
const DOWNLOAD_SHARE = 0.9;

/** One update as far as the device's own requests have brought it. */
export class RunningUpdate {
  readonly image: UpdateImage;
  /** Under which the device downloads and applies this very image. */
  readonly token: Uint8Array;
  readonly #clock: Clock;
  readonly #device: string;
  readonly #onProgress: (progress: UpdateProgress) => void;
  #step: Exclude<UpdateProgress['step'], 'done'> = 'querying';
  #bytes = 0;
  #heardAtMs: number;
  #stepAtMs: number;
  #failure: AtmoError | undefined;
  #toldPercent = -1;

  constructor(
    collaborators: { readonly clock: Clock; onProgress(progress: UpdateProgress): void },
    update: { readonly device: string; readonly image: UpdateImage; readonly token: Uint8Array },
  ) {
    this.#clock = collaborators.clock;
    this.#onProgress = (progress) => collaborators.onProgress(progress);
    this.#device = update.device;
    this.image = update.image;
    this.token = update.token;
    this.#heardAtMs = this.#clock.monotonic();
    this.#stepAtMs = this.#heardAtMs;
  }

  get step(): Exclude<UpdateProgress['step'], 'done'> {
    return this.#step;
  }

  /** Of the present download. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Why the device cannot go on, where it told so. */
  get failure(): AtmoError | undefined {
    return this.#failure;
  }

  /** Milliseconds since the device last asked for something. */
  get quietMs(): number {
    return this.#clock.monotonic() - this.#heardAtMs;
  }

  /** Milliseconds since the present step began. */
  get stepMs(): number {
    return this.#clock.monotonic() - this.#stepAtMs;
  }

  /** The device looks for an image; it also does so again after a restart in the middle. */
  query(query: ImageQuery): ImageAnswer {
    this.#heard();
    const node: NodeSoftware = { ...query, version: { number: query.softwareVersion, text: '' } };
    if (query.softwareVersion === this.image.version.number) return 'none';
    const misfit = incompatibilityOf(this.image, node);
    if (misfit !== undefined) return this.#fail('CONFLICT', `${this.#device} ${misfit}`, 'none');
    if (this.#step === 'applying') return this.#fail('CONFLICT', `${this.#device} restarted without the new software`, 'none');
    if (query.protocolsSupported.includes(BDX_SYNCHRONOUS)) return 'offered';
    return this.#fail(
      'NOT_SUPPORTED',
      `${this.#device} downloads from web servers only; the hub hands images out over Matter`,
      'no-protocol',
    );
  }

  /** A block of the download has gone; the first one of another download starts again at the beginning. */
  downloaded(bytes: number): void {
    this.#heard();
    this.#enter('downloading');
    this.#bytes = bytes;
    const size = this.image.blob.size;
    const percent = Math.floor((100 * bytes) / size);
    if (percent === this.#toldPercent) return;
    this.#toldPercent = percent;
    this.#onProgress({ step: 'downloading', fraction: (DOWNLOAD_SHARE * bytes) / size, note: `${bytes} of ${size} bytes` });
  }

  /** The device has the image and asks whether it may install it. */
  apply(token: Uint8Array): 'proceed' | 'discontinue' {
    this.#heard();
    if (this.#failure || Buffer.compare(token, this.token) !== 0) return 'discontinue';
    this.#enter('applying');
    this.#onProgress({ step: 'applying', fraction: DOWNLOAD_SHARE, note: 'the device installs the image and starts again' });
    return 'proceed';
  }

  /** The device says by itself that it is done. */
  applied(): void {
    this.#heard();
  }

  #heard(): void {
    this.#heardAtMs = this.#clock.monotonic();
  }

  #enter(step: 'downloading' | 'applying'): void {
    if (this.#step === step) return;
    this.#step = step;
    this.#stepAtMs = this.#clock.monotonic();
  }

  #fail(code: 'CONFLICT' | 'NOT_SUPPORTED', message: string, answer: ImageAnswer): ImageAnswer {
    this.#failure ??= new AtmoError(code, message, { file: this.image.file });
    return answer;
  }
}

/** What a device says of itself while it is updated. */
export interface SoftwareState {
  readonly version: SoftwareVersion;
  /** UpdateStateEnum by name (Core §11.20.7.4.2), such as `Applying`. */
  readonly state: string;
}

interface UpdateWatchParts {
  readonly clock: Clock;
  readonly course: RunningUpdate;
  /** Such as `Lamp`. */
  readonly device: string;
  /** Asks the device; DEVICE_UNREACHABLE when it does not answer. */
  ask(signal: AbortSignal): Promise<SoftwareState>;
}

type Step = RunningUpdate['step'];
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
export class UpdateMonitor {
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
