import { type Clock, pause } from '../../core/clock.ts';
import type { SoftwareVersion, UpdateProgress } from '../../core/devices/device-administration.ts';
import { AtmoError } from '../../core/errors.ts';
import { incompatibilityOf, type NodeSoftware, type UpdateImage, versionText } from './update-images.ts';

/** Fields of the QueryImage command, with which a device requests an image (Core §11.20.6.5.1). */
interface ImageQuery {
  readonly vendorId: number;
  readonly productId: number;
  readonly softwareVersion: number;
  /** Values of DownloadProtocolEnum: 0 is BDX over the same session. */
  readonly protocolsSupported: readonly number[];
}

/** The response to QueryImage: the image, no image, or no common protocol. */
type ImageAnswer = 'offered' | 'none' | 'no-protocol';

const BDX_SYNCHRONOUS = 0;
const DOWNLOAD_SHARE = 0.9;

/** One update of a device; handles the requests that the device sends. */
export class RunningUpdate {
  readonly image: UpdateImage;
  /** Update token, which identifies the image when the device downloads and applies it. */
  readonly token: Uint8Array;
  readonly #parts: { readonly clock: Clock; onProgress(progress: UpdateProgress): void };
  readonly #device: string;
  #step: Step = 'querying';
  #bytes = 0;
  #requests = 0;
  #requestAtMs: number;
  #stepAtMs: number;
  #failure: AtmoError | undefined;
  #reportedPercent = -1;

  constructor(
    parts: { readonly clock: Clock; onProgress(progress: UpdateProgress): void },
    { device, image, token }: { readonly device: string; readonly image: UpdateImage; readonly token: Uint8Array },
  ) {
    this.#parts = parts;
    this.#device = device;
    this.image = image;
    this.token = token;
    this.#requestAtMs = parts.clock.monotonic();
    this.#stepAtMs = this.#requestAtMs;
  }

  get step(): Step {
    return this.#step;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Why the device cannot install the image; undefined if no reason is known. */
  get failure(): AtmoError | undefined {
    return this.#failure;
  }

  /** Number of requests that the device has sent so far. */
  get requests(): number {
    return this.#requests;
  }

  /** Milliseconds since the last request of the device. */
  get quietMs(): number {
    return this.#parts.clock.monotonic() - this.#requestAtMs;
  }

  /** Milliseconds since the current step began. */
  get stepMs(): number {
    return this.#parts.clock.monotonic() - this.#stepAtMs;
  }

  /** Handles QueryImage, which the device repeats if it restarts during the update. */
  query(query: ImageQuery): ImageAnswer {
    this.#noteRequest();
    const node: NodeSoftware = { ...query, version: { number: query.softwareVersion, text: '' } };
    if (query.softwareVersion === this.image.version.number) return 'none';
    const misfit = incompatibilityOf(this.image, node);
    if (misfit !== undefined) return this.#fail('CONFLICT', `${this.#device} ${misfit}`, 'none');
    if (this.#step === 'applying') return this.#fail('CONFLICT', `${this.#device} restarted without the new software`, 'none');
    if (query.protocolsSupported.includes(BDX_SYNCHRONOUS)) return 'offered';
    const message = `${this.#device} downloads from web servers only; the hub hands images out over Matter`;
    return this.#fail('NOT_SUPPORTED', message, 'no-protocol');
  }

  /** Must be called when the device requests a part of the image. */
  partRequested(): void {
    this.#noteRequest();
    this.#enter('downloading');
  }

  /**
   * Must be called after each block. `bytes` is the size of all blocks so far; it starts at 0 again if the device downloads again. This is
   * no sign of the device: matter.js also counts the block whose retransmissions it gives up.
   */
  downloaded(bytes: number): void {
    this.#enter('downloading');
    this.#bytes = bytes;
    const size = this.image.blob.size;
    const percent = Math.floor((100 * bytes) / size);
    if (percent === this.#reportedPercent) return;
    this.#reportedPercent = percent;
    this.#parts.onProgress({ step: 'downloading', fraction: (DOWNLOAD_SHARE * bytes) / size, note: `${bytes} of ${size} bytes` });
  }

  /** Handles ApplyUpdateRequest: the device has the image and requests to install it. */
  apply(token: Uint8Array): 'proceed' | 'discontinue' {
    this.#noteRequest();
    if (this.#failure || Buffer.compare(token, this.token) !== 0) return 'discontinue';
    this.#enter('applying');
    this.#parts.onProgress({ step: 'applying', fraction: DOWNLOAD_SHARE, note: 'the device installs the image and starts again' });
    return 'proceed';
  }

  /** Handles NotifyUpdateApplied; UpdateMonitor then reads the new version. */
  applied(): void {
    this.#noteRequest();
  }

  #noteRequest(): void {
    this.#requests += 1;
    this.#requestAtMs = this.#parts.clock.monotonic();
  }

  #enter(step: 'downloading' | 'applying'): void {
    if (this.#step === step) return;
    this.#step = step;
    this.#stepAtMs = this.#parts.clock.monotonic();
  }

  #fail(code: 'CONFLICT' | 'NOT_SUPPORTED', message: string, answer: ImageAnswer): ImageAnswer {
    this.#failure ??= new AtmoError(code, message, { file: this.image.file });
    return answer;
  }
}

/** The software of a device during its update. */
export interface SoftwareState {
  readonly version: SoftwareVersion;
  /** Name from UpdateStateEnum (Core §11.20.7.4.2), such as `Applying`. */
  readonly state: string;
}

interface UpdateMonitorParts {
  readonly clock: Clock;
  readonly update: RunningUpdate;
  readonly device: string;
  /** Reads the software of the device. Throws DEVICE_UNREACHABLE if the device does not answer. */
  read(signal: AbortSignal): Promise<SoftwareState>;
}

type Step = Exclude<UpdateProgress['step'], 'done'>;
/** The result of one read of the device's software. */
type Sign = 'silent' | 'idle' | 'busy' | 'done';

const CHECK_MS = 500;
/** If the device sends no request for this time (in ms), the hub reads its software. */
const QUIET_MS: Readonly<Record<Step, number>> = { querying: 30_000, downloading: 8_000, applying: 2_000 };
/** Time limit of a read. It is short during a download, because a device that downloads is awake. */
const ANSWER_LIMIT_MS: Readonly<Record<Step, number>> = { querying: 40_000, downloading: 6_000, applying: 40_000 };
/** Time limits of an update. A device may wait for 10 minutes before it queries the announced image (Core §11.20.7.6.1). */
const QUERY_LIMIT_MS = 11 * 60_000;
const DOWNLOAD_QUIET_LIMIT_MS = 6 * 60_000;
const APPLY_LIMIT_MS = 15 * 60_000;
/** The hub judges the update after this many equal reads in a row, because one lost response proves nothing. */
const SIGNS_NEEDED = 2;
const IDLE_STATES: ReadonlySet<string> = new Set(['Idle', 'Unknown']);

/** Watches an update until the device reports its new version or the update has failed. */
export class UpdateMonitor {
  readonly #parts: UpdateMonitorParts;
  #lastSeen = '';
  #inARow = 0;
  #readAtMs = 0;
  #old: SoftwareVersion | undefined;

  constructor(parts: UpdateMonitorParts) {
    this.#parts = parts;
  }

  /** Waits for the device to report the new version, and returns it. If the update fails, the error says in which step. */
  async outcome(signal: AbortSignal): Promise<SoftwareVersion> {
    const { update, clock } = this.#parts;
    for (;;) {
      signal.throwIfAborted();
      if (update.failure) throw update.failure;
      if (this.#isReadDue()) {
        const version = await this.#newVersion(signal);
        if (version !== undefined) return version;
      }
      this.#checkTimeLimits();
      await pause(clock, CHECK_MS, signal);
    }
  }

  #isReadDue(): boolean {
    const { update, clock } = this.#parts;
    const quietMs = QUIET_MS[update.step];
    return update.quietMs >= quietMs && clock.monotonic() - this.#readAtMs >= Math.min(quietMs, QUIET_MS.downloading);
  }

  async #newVersion(signal: AbortSignal): Promise<SoftwareVersion | undefined> {
    const { sign, version } = await this.#sign(signal);
    this.#readAtMs = this.#parts.clock.monotonic();
    signal.throwIfAborted();
    if (sign === 'done') return version;
    this.#count(sign);
    if (this.#inARow >= SIGNS_NEEDED) this.#judge(sign);
    return undefined;
  }

  async #sign(signal: AbortSignal): Promise<{ readonly sign: Sign; readonly version?: SoftwareVersion }> {
    const { update, clock, read } = this.#parts;
    const late = new AbortController();
    const cancel = clock.after(ANSWER_LIMIT_MS[update.step], () => late.abort());
    try {
      const { version, state } = await read(AbortSignal.any([signal, late.signal]));
      if (version.number === update.image.version.number) return { sign: 'done', version };
      this.#old = version;
      return { sign: IDLE_STATES.has(state) ? 'idle' : 'busy' };
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      return { sign: error.code === 'DEVICE_UNREACHABLE' || late.signal.aborted ? 'silent' : 'busy' };
    } finally {
      cancel();
    }
  }

  /** Counts equal reads in a row; any request of the device starts the count again. */
  #count(sign: Sign): void {
    const seen = `${sign} ${this.#parts.update.requests}`;
    this.#inARow = seen === this.#lastSeen ? this.#inARow + 1 : 1;
    this.#lastSeen = seen;
  }

  #judge(sign: Sign): void {
    const { update, device } = this.#parts;
    const { step, bytes, image } = update;
    const how = step === 'downloading' ? ` after ${bytes} of ${image.blob.size} bytes of the download` : '';
    if (sign === 'silent' && step !== 'applying')
      throw this.#error('DEVICE_UNREACHABLE', `${device} stopped answering${how}${this.#still()}; start the update again once it is back`);
    if (sign === 'idle' && step === 'downloading')
      throw this.#error('CLUSTER_STATUS', `${device} gave up${how}${this.#still()}; start the update again`);
    if (sign === 'idle' && step === 'applying')
      throw this.#error(
        'CLUSTER_STATUS',
        `${device} took the image and did not install it${this.#still()}; its manufacturer may explain it`,
      );
  }

  #checkTimeLimits(): void {
    const { update, device } = this.#parts;
    const { step, stepMs, quietMs, bytes } = update;
    if (step === 'querying' && stepMs >= QUERY_LIMIT_MS)
      throw this.#error('TIMEOUT', `${device} was notified of the image and did not query it within 11 minutes`);
    if (step === 'downloading' && quietMs >= DOWNLOAD_QUIET_LIMIT_MS)
      throw this.#error('TIMEOUT', `${device} answers, but does not go on with the download after ${bytes} bytes${this.#still()}`);
    if (step === 'applying' && stepMs >= APPLY_LIMIT_MS)
      throw this.#error(
        'OUTCOME_UNKNOWN',
        `${device} began to install the image and did not report a new version within 15 minutes; check the device`,
      );
  }

  #error(code: 'DEVICE_UNREACHABLE' | 'CLUSTER_STATUS' | 'TIMEOUT' | 'OUTCOME_UNKNOWN', message: string): AtmoError {
    const { image, step, bytes } = this.#parts.update;
    return new AtmoError(code, message, { file: image.file, step, bytes });
  }

  #still(): string {
    return this.#old ? `, and runs version ${versionText(this.#old)}` : '';
  }
}
