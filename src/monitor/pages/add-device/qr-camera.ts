import type { HubClient } from '../../api/hub-client.ts';

const LOOK_EVERY_MS = 200;
/** Enough for a code that fills half of the picture, and little to compute. */
const WIDTH = 640;

/** The camera of this device, looking for a QR code. Needs a secure origin and the person's leave. */
export class QrCamera {
  readonly stream: MediaStream;
  readonly #hub: Pick<HubClient, 'part'>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isStopped = false;

  private constructor(stream: MediaStream, hub: Pick<HubClient, 'part'>) {
    this.stream = stream;
    this.#hub = hub;
  }

  /** Rejects when there is no camera or the person says no. */
  static async open(hub: Pick<HubClient, 'part'>): Promise<QrCamera> {
    const video = { facingMode: 'environment', width: { ideal: 1280 } };
    return new QrCamera(await navigator.mediaDevices.getUserMedia({ video, audio: false }), hub);
  }

  /** Shows the picture in `video` and tells each code that it sees until one is taken over. */
  watch(video: HTMLVideoElement, onText: (text: string) => boolean): void {
    void video.play();
    const canvas = document.createElement('canvas');
    const look = async () => {
      const { default: decodeQr } = await this.#hub.part(() => import('qr/decode.js'));
      const picture = pictureOf(video, canvas);
      const text = picture && textIn(picture, decodeQr);
      const isTaken = text !== undefined && !this.#isStopped && onText(text);
      if (!isTaken && !this.#isStopped) this.#timer = setTimeout(() => void look(), LOOK_EVERY_MS);
    };
    void look();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    for (const track of this.stream.getTracks()) track.stop();
  }
}

/** What the camera sees now; undefined before its first picture. */
function pictureOf(video: HTMLVideoElement, canvas: HTMLCanvasElement): ImageData | undefined {
  if (video.videoWidth === 0) return undefined;
  const height = Math.round((video.videoHeight / video.videoWidth) * WIDTH);
  canvas.width = WIDTH;
  canvas.height = height;
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context?.drawImage(video, 0, 0, WIDTH, height);
  return context?.getImageData(0, 0, WIDTH, height);
}

/** The text of the QR code in a picture; undefined without one. */
function textIn(picture: ImageData, decodeQr: (picture: ImageData) => string): string | undefined {
  try {
    return decodeQr(picture);
  } catch {
    // It throws for every picture without a code.
    return undefined;
  }
}
