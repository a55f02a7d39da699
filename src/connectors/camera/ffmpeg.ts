import type { Frame, FrameRequest } from './frame-source.ts';
import { pictureSize } from './picture-size.ts';
import { noPicture, type PictureRun, type ProgramEnd, runProgram } from './run-program.ts';

/** Where ffmpeg takes a picture from. */
export interface FfmpegInput {
  /** Up to and with `-i`. */
  readonly args: readonly string[];
  readonly stdin?: string | Uint8Array;
}

const PROGRAM = 'ffmpeg';
/** ffmpeg's scale of the quality of JPEG: 2 is best, 31 is worst. */
const BEST = 2;
const WORST = 31;
/** No `file`: a camera that somebody took over could send a playlist with files of the hub in it. */
const NETWORK_PROTOCOLS = 'pipe,fd,http,https,httpproxy,rtsp,rtsps,rtp,udp,tcp,tls,crypto';
/** A few bytes can claim to be a picture of gigabytes. */
const MAX_PIXELS = 50_000_000;

/** An address of the network. It goes in as a list of one file on standard input: arguments of programs can be seen by every user. */
export function networkInput(url: string): FfmpegInput {
  const rtsp = url.startsWith('rtsp') ? 'option rtsp_transport tcp\n' : '';
  const list = `ffconcat version 1.0\nfile '${url.replaceAll("'", "'\\''")}'\n${rtsp}`;
  return { args: ['-protocol_whitelist', NETWORK_PROTOCOLS, '-f', 'concat', '-safe', '0', '-i', 'pipe:0'], stdin: list };
}

/** A camera of the kernel (V4L2). */
export function deviceInput(device: string): FfmpegInput {
  return { args: ['-f', 'v4l2', '-i', device] };
}

/** A picture that is there already. */
export function pictureInput(bytes: Uint8Array): FfmpegInput {
  return { args: ['-protocol_whitelist', 'pipe,fd', '-f', 'image2pipe', '-i', 'pipe:0'], stdin: bytes };
}

/** One picture by ffmpeg. Errors: those of `runProgram`; SERVICE_UNAVAILABLE with what ffmpeg says when there is no picture. */
export async function ffmpegFrame(input: FfmpegInput, request: FrameRequest, run: PictureRun): Promise<Frame> {
  const end = await runProgram({
    ...run,
    program: PROGRAM,
    args: ['-hide_banner', '-loglevel', 'error', '-max_pixels', String(MAX_PIXELS), ...input.args, ...outputArgs(request)],
    ...(input.stdin !== undefined && { input: input.stdin }),
  });
  if (end.exitCode !== 0 || end.output.length === 0) throw noPicture(PROGRAM, end);
  return request.format === 'raw' ? rawFrame(end) : encodedFrame(request.format, end);
}

function outputArgs({ format, quality, within }: FrameRequest): readonly string[] {
  const { width = 'iw', height = 'ih' } = within ?? {};
  const scale = within ? ['-vf', `scale=w='min(iw,${width})':h='min(ih,${height})':force_original_aspect_ratio=decrease`] : [];
  const scaleOfQuality = Math.round(WORST - ((quality - 1) / 99) * (WORST - BEST));
  const codec = {
    jpeg: ['-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p', '-q:v', String(scaleOfQuality)],
    png: ['-c:v', 'png'],
    // A portable pixmap is raw RGB behind a line with its size.
    raw: ['-c:v', 'ppm', '-pix_fmt', 'rgb24'],
  }[format];
  return ['-an', '-frames:v', '1', ...scale, ...codec, '-f', 'image2pipe', 'pipe:1'];
}

function encodedFrame(format: 'jpeg' | 'png', end: ProgramEnd): Frame {
  const size = pictureSize(end.output);
  if (size?.type !== `image/${format}`) throw noPicture(PROGRAM, end);
  return { bytes: end.output, format, width: size.width, height: size.height };
}

/** Netpbm, ppm(5): `P6`, width, height, greatest value, then three bytes for each pixel. */
function rawFrame(end: ProgramEnd): Frame {
  const head = /^P6\s(\d+)\s(\d+)\s255\s/.exec(String.fromCharCode(...end.output.subarray(0, 64)));
  const [whole = '', width = '', height = ''] = head ?? [];
  const bytes = end.output.slice(whole.length);
  if (!head || bytes.length !== Number(width) * Number(height) * 3) throw noPicture(PROGRAM, end);
  return { bytes, format: 'raw', width: Number(width), height: Number(height) };
}
