/** Forms of a picture; `raw` is RGB, three bytes for each pixel, row by row. */
export const FRAME_FORMATS = ['jpeg', 'png', 'raw'] as const;
export type FrameFormat = (typeof FRAME_FORMATS)[number];

/** What is wanted of a picture. */
export interface FrameRequest {
  readonly format: FrameFormat;
  /** 1 to 100, for JPEG. */
  readonly quality: number;
  readonly within?: Bounds;
}

/** In pixels: the picture fits into it and keeps its shape; a side that is not said follows the other. */
export interface Bounds {
  readonly width?: number;
  readonly height?: number;
}

/** A picture. */
export interface Frame {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly format: FrameFormat;
  readonly width: number;
  readonly height: number;
}

/** Port: what takes pictures with the cameras of the house. */
export interface FrameSource {
  /**
   * Takes a picture now. Errors: NOT_FOUND (no such camera), SERVICE_UNAVAILABLE (it does not answer), SERVICE_REFUSED (what came is no
   * picture, or it refused), PAYLOAD_TOO_LARGE, NOT_SUPPORTED (the program that it takes is not installed).
   */
  capture(camera: string, request: FrameRequest, signal: AbortSignal): Promise<Frame>;
}
