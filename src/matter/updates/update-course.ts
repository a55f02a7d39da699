import type { UpdateProgress } from '../../core/devices/software-update.ts';
import { AtmoError } from '../../core/errors.ts';
import type { Clock } from '../../core/time/clock.ts';
import { misfitOf, type NodeSoftware } from './image-fit.ts';
import type { UpdateImage } from './update-image.ts';

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
export class UpdateCourse {
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
    const misfit = misfitOf(this.image, node);
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
