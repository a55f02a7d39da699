const LOOK_EVERY_MS = 200;
/** Enough for a code that fills half of the picture, and little to compute. */
const WIDTH = 640;

/** The camera of this device, looking for a QR code. Needs a secure origin and the person's leave. */
export class QrCamera {
  readonly stream: MediaStream;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isStopped = false;

  private constructor(stream: MediaStream) {
    this.stream = stream;
  }

  /** Rejects when there is no camera or the person says no. */
  static async open(): Promise<QrCamera> {
    const video = { facingMode: 'environment', width: { ideal: 1280 } };
    return new QrCamera(await navigator.mediaDevices.getUserMedia({ video, audio: false }));
  }

  /** Shows the picture in `video` and tells each code that it sees until one is taken over. */
  watch(video: HTMLVideoElement, onText: (text: string) => boolean): void {
    void video.play();
    const canvas = document.createElement('canvas');
    const look = async () => {
      const text = await textIn(video, canvas);
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

/** The text of the QR code in the picture of now; undefined without one. */
async function textIn(video: HTMLVideoElement, canvas: HTMLCanvasElement): Promise<string | undefined> {
  const { default: decodeQr } = await import('qr/decode.js');
  if (video.videoWidth === 0) return undefined;
  const height = Math.round((video.videoHeight / video.videoWidth) * WIDTH);
  canvas.width = WIDTH;
  canvas.height = height;
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context) return undefined;
  context.drawImage(video, 0, 0, WIDTH, height);
  try {
    return decodeQr(context.getImageData(0, 0, WIDTH, height));
  } catch {
    // It throws for every picture without a code.
    return undefined;
  }
}
