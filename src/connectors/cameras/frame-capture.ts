import { spawn } from 'node:child_process';
import { AtmoError } from '../../core/errors.ts';
import { pictureSize } from '../media-type.ts';

/** Forms of a picture; `raw` is RGB, three bytes for each pixel, row by row. */
export const FRAME_FORMATS = ['jpeg', 'png', 'raw'] as const;
export type FrameFormat = (typeof FRAME_FORMATS)[number];

/** What is wanted of a picture. */
export interface FrameRequest {
  readonly format: FrameFormat;
  /** 1 to 100, for JPEG. */
  readonly quality: number;
  readonly within?: FrameBounds;
}

/** In pixels: the picture fits into it and keeps its shape; a side that is not said follows the other. */
interface FrameBounds {
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

/** Where ffmpeg takes a picture from. */
export interface FfmpegInput {
  /** Up to and with `-i`. */
  readonly args: readonly string[];
  readonly stdin?: string | Uint8Array;
}

const FFMPEG = 'ffmpeg';
/** ffmpeg's scale of the quality of JPEG: 2 is best, 31 is worst. */
const BEST_QSCALE = 2;
const WORST_QSCALE = 31;
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
    program: FFMPEG,
    args: ['-hide_banner', '-loglevel', 'error', '-max_pixels', String(MAX_PIXELS), ...input.args, ...ffmpegArguments(request)],
    ...(input.stdin !== undefined && { input: input.stdin }),
  });
  if (end.exitCode !== 0 || end.output.length === 0) throw captureFailed(FFMPEG, end);
  return request.format === 'raw' ? rawFrame(end) : encodedFrame(request.format, end);
}

function ffmpegArguments({ format, quality, within }: FrameRequest): readonly string[] {
  const { width = 'iw', height = 'ih' } = within ?? {};
  const scale = within ? ['-vf', `scale=w='min(iw,${width})':h='min(ih,${height})':force_original_aspect_ratio=decrease`] : [];
  const scaleOfQuality = Math.round(WORST_QSCALE - ((quality - 1) / 99) * (WORST_QSCALE - BEST_QSCALE));
  const codec = {
    jpeg: ['-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p', '-q:v', String(scaleOfQuality)],
    png: ['-c:v', 'png'],
    // A portable pixmap is raw RGB behind a line with its size.
    raw: ['-c:v', 'ppm', '-pix_fmt', 'rgb24'],
  }[format];
  return ['-an', '-frames:v', '1', ...scale, ...codec, '-f', 'image2pipe', 'pipe:1'];
}

function encodedFrame(format: 'jpeg' | 'png', end: ProgramOutcome): Frame {
  const size = pictureSize(end.output);
  if (size?.type !== `image/${format}`) throw captureFailed(FFMPEG, end);
  return { bytes: end.output, format, width: size.width, height: size.height };
}

/** Netpbm, ppm(5): `P6`, width, height, greatest value, then three bytes for each pixel. */
function rawFrame(end: ProgramOutcome): Frame {
  const head = /^P6\s(\d+)\s(\d+)\s255\s/.exec(String.fromCharCode(...end.output.subarray(0, 64)));
  const [whole = '', width = '', height = ''] = head ?? [];
  const bytes = end.output.slice(whole.length);
  if (!head || bytes.length !== Number(width) * Number(height) * 3) throw captureFailed(FFMPEG, end);
  return { bytes, format: 'raw', width: Number(width), height: Number(height) };
}

/** The name since Raspberry Pi OS 12, and the one before. */
const RPICAM_PROGRAMS = ['rpicam-still', 'libcamera-still'] as const;
/** Exposure and white balance need some frames to settle, in milliseconds. */
const SETTLE_MS = 500;
/** A sensor of 12 megapixels would make pictures that no caller can take. */
const DEFAULT_SIZE: FrameSize = { width: 1280, height: 960 };

interface FrameSize {
  readonly width: number;
  readonly height: number;
}

/**
 * A picture by a camera at the board's own connector (rpicam-still of Raspberry Pi OS). Errors: those of `runProgram`;
 * SERVICE_UNAVAILABLE with what the program says when there is no picture.
 */
export async function rpicamFrame(camera: number, request: FrameRequest, run: PictureRun): Promise<Frame> {
  const { width, height } = await frameSize(camera, request.within ?? DEFAULT_SIZE, run);
  const end = await runRpicam({ ...run, args: rpicamArguments(camera, request, { width, height }) });
  if (end.exitCode !== 0) throw captureFailed(RPICAM_PROGRAMS[0], end);
  if (request.format !== 'raw') {
    const size = pictureSize(end.output);
    if (size) return { bytes: end.output, format: request.format, width: size.width, height: size.height };
  }
  if (request.format === 'raw' && end.output.length === width * height * 3) return { bytes: end.output, format: 'raw', width, height };
  throw captureFailed(RPICAM_PROGRAMS[0], end);
}

/** rpicam-still fills a side that is not said with all that the sensor has, and cuts off what then does not fit. */
async function frameSize(camera: number, { width, height }: FrameBounds, run: PictureRun): Promise<FrameSize> {
  if (width !== undefined && height !== undefined) return { width, height };
  if (width === undefined && height === undefined) return DEFAULT_SIZE;
  const sensor = await sensorSize(camera, run);
  const scale = Math.min(1, (width ?? sensor.width) / sensor.width, (height ?? sensor.height) / sensor.height);
  // A pixel of colour stands for two by two of brightness.
  const following = (side: number) => Math.max(2, 2 * Math.round((side * scale) / 2));
  const sideOf = (given: number | undefined, own: number) => (given === undefined ? following(own) : Math.min(given, own));
  return { width: sideOf(width, sensor.width), height: sideOf(height, sensor.height) };
}

/** As the list of cameras says it, in lines such as `0 : imx708 [4608x2592 10-bit RGGB] (/base/soc/…)`. */
async function sensorSize(camera: number, run: PictureRun): Promise<FrameSize> {
  const end = await runRpicam({ ...run, args: ['--list-cameras'] });
  const list = `${Buffer.from(end.output).toString('utf8')}\n${end.complaint}`;
  const [, width, height] = new RegExp(`^\\s*${camera} : [^[\\n]*\\[(\\d+)x(\\d+)`, 'm').exec(list) ?? [];
  if (width !== undefined && height !== undefined) return { width: Number(width), height: Number(height) };
  throw new AtmoError('NOT_SUPPORTED', `The camera ${camera} of the board does not tell its shape; say both width and height`);
}

function rpicamArguments(camera: number, { format, quality }: FrameRequest, { width, height }: FrameSize): readonly string[] {
  const encoding = { jpeg: 'jpg', png: 'png', raw: 'rgb24' }[format];
  const size = ['--width', String(width), '--height', String(height)];
  const output = ['--encoding', encoding, '--quality', String(quality), '--output', '-'];
  return ['--camera', String(camera), '--nopreview', '--timeout', String(SETTLE_MS), ...size, ...output];
}

async function runRpicam(run: Omit<ProgramRun, 'program'>): Promise<ProgramOutcome> {
  const [program, older] = RPICAM_PROGRAMS;
  try {
    return await runProgram({ ...run, program });
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'NOT_SUPPORTED') return runProgram({ ...run, program: older });
    throw error;
  }
}

/** A program with its arguments, which no shell ever sees. */
interface ProgramRun {
  readonly program: string;
  readonly args: readonly string[];
  readonly input?: string | Uint8Array;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  /** Most that it may write. */
  readonly maxBytes: number;
}

/** What every run for a picture needs. */
export type PictureRun = Pick<ProgramRun, 'env' | 'signal' | 'maxBytes'>;

/** How a program ended. */
interface ProgramOutcome {
  /** null where a signal ended it. */
  readonly exitCode: number | null;
  readonly output: Uint8Array<ArrayBuffer>;
  /** The end of what it complained of. */
  readonly complaint: string;
}

const MAX_ERROR_OUTPUT = 2_000;
/** What programs that know nothing of the hub get of its environment: no secret is among it. */
const PASSED_VARIABLES = ['PATH', 'HOME', 'LANG', 'LD_LIBRARY_PATH'];

/**
 * Runs a program to its end and holds what it writes in memory; it is killed when the signal aborts or it writes too much. Errors:
 * NOT_SUPPORTED (it is not installed), PAYLOAD_TOO_LARGE, or what the signal aborts with.
 */
async function runProgram({ program, args, input, env, signal, maxBytes }: ProgramRun): Promise<ProgramOutcome> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<ProgramOutcome>();
  const child = spawn(program, args, { env: programEnvironment(env), stdio: ['pipe', 'pipe', 'pipe'], shell: false });
  const parts: Buffer[] = [];
  let length = 0;
  let complaint = '';
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  child.once('error', (error) => reject(notStarted(program, error)));
  // A program that has ended, or wants no more input, breaks the pipe; its exit code says more.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  child.stdout.on('data', (part: Buffer) => {
    length += part.length;
    if (length > maxBytes) kill();
    else parts.push(part);
  });
  child.stderr.on('data', (part: Buffer) => {
    complaint = (complaint + part.toString('utf8')).slice(-MAX_ERROR_OUTPUT);
  });
  child.once('close', (exitCode) => {
    if (signal.aborted) reject(signal.reason);
    else if (length > maxBytes) reject(outputTooLarge(program, maxBytes));
    else resolve({ exitCode, output: new Uint8Array(Buffer.concat(parts)), complaint: complaint.trim() });
  });
  return promise.finally(() => signal.removeEventListener('abort', kill));
}

/** SERVICE_UNAVAILABLE with the reason, which is in the last line of what a program says. */
function captureFailed(program: string, { complaint, exitCode }: ProgramOutcome): AtmoError {
  const reason = complaint.split('\n').at(-1) ?? '';
  return new AtmoError(
    'SERVICE_UNAVAILABLE',
    `The camera gave no picture: ${reason === '' ? `${program} ended with ${exitCode}` : reason}`,
  );
}

function programEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(PASSED_VARIABLES.filter((name) => env[name] !== undefined).map((name) => [name, env[name]]));
}

function notStarted(program: string, { message }: Error): AtmoError {
  return new AtmoError('NOT_SUPPORTED', `${program} cannot be started; is it installed? (${message})`, { program });
}

function outputTooLarge(program: string, maxBytes: number): AtmoError {
  return new AtmoError('PAYLOAD_TOO_LARGE', `What ${program} makes is larger than ${maxBytes} bytes; ask for a smaller resolution`, {
    max_bytes: maxBytes,
  });
}
