import { spawn } from 'node:child_process';
import { AtmoError } from '../../core/errors.ts';
import { pictureSize } from '../media-type.ts';

/** Formats of a picture; `raw` is RGB, three bytes for each pixel, row by row. */
export const FRAME_FORMATS = ['jpeg', 'png', 'raw'] as const;

/** The requested format and size of a picture. */
export interface FrameRequest {
  readonly format: (typeof FRAME_FORMATS)[number];
  /** Quality of a JPEG, from 1 (worst) to 100 (best). */
  readonly quality: number;
  /** Maximum width and height in pixels. If only one is given, the other follows from the aspect ratio. */
  readonly within?: Partial<FrameSize>;
}

interface FrameSize {
  readonly width: number;
  readonly height: number;
}

/** A captured picture. */
export interface Frame extends FrameSize {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly format: FrameRequest['format'];
}

/** What ffmpeg reads: the arguments that name its input (up to `-i` and the path), and the data for its standard input, if any. */
type FfmpegInput = Pick<ProgramRun, 'args' | 'input'>;

const FFMPEG = 'ffmpeg';
/** Best value on ffmpeg's quality scale for JPEG; the worst value is 31. */
const BEST_QSCALE = 2;
const WORST_QSCALE = 31;
/** Protocols that ffmpeg may use. `file` is not among them: a hijacked camera could send a playlist that names files of the hub. */
const NETWORK_PROTOCOLS = 'pipe,fd,http,https,httpproxy,rtsp,rtsps,rtp,udp,tcp,tls,crypto';
/** Maximum number of pixels that ffmpeg decodes. Without this limit, a small file could declare a size that takes gigabytes of memory. */
const MAX_PIXELS = 50_000_000;

/** Returns ffmpeg's input for a URL. The URL may contain a login. So the URL goes to standard input: all local users can read arguments. */
export function networkInput(url: string): FfmpegInput {
  const rtsp = url.startsWith('rtsp') ? 'option rtsp_transport tcp\n' : '';
  const list = `ffconcat version 1.0\nfile '${url.replaceAll("'", "'\\''")}'\n${rtsp}`;
  return { args: ['-protocol_whitelist', NETWORK_PROTOCOLS, '-f', 'concat', '-safe', '0', '-i', 'pipe:0'], input: list };
}

/** Takes a picture with ffmpeg. Rejects like `runProgram`, and with SERVICE_UNAVAILABLE and ffmpeg's message if ffmpeg fails. */
export async function ffmpegFrame({ args, ...input }: FfmpegInput, request: FrameRequest, run: PictureRun): Promise<Frame> {
  const { format } = request;
  const bounds = ['-hide_banner', '-loglevel', 'error', '-max_pixels', String(MAX_PIXELS)];
  const end = await runProgram({ ...run, program: FFMPEG, args: [...bounds, ...args, ...ffmpegArguments(request)], ...input });
  if (end.exitCode !== 0 || end.output.length === 0) throw captureFailed(FFMPEG, end);
  if (format === 'raw') return rawFrame(end);
  const size = pictureSize(end.output);
  if (size?.type !== `image/${format}`) throw captureFailed(FFMPEG, end);
  return { bytes: end.output, format, width: size.width, height: size.height };
}

function ffmpegArguments({ format, quality, within }: FrameRequest): readonly string[] {
  const { width = 'iw', height = 'ih' } = within ?? {};
  const scale = within ? ['-vf', `scale=w='min(iw,${width})':h='min(ih,${height})':force_original_aspect_ratio=decrease`] : [];
  const scaleOfQuality = Math.round(WORST_QSCALE - ((quality - 1) / 99) * (WORST_QSCALE - BEST_QSCALE));
  const codec = {
    jpeg: ['-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p', '-q:v', String(scaleOfQuality)],
    png: ['-c:v', 'png'],
    // The format ppm is raw RGB after a short header, which `rawFrame` removes.
    raw: ['-c:v', 'ppm', '-pix_fmt', 'rgb24'],
  }[format];
  return ['-an', '-frames:v', '1', ...scale, ...codec, '-f', 'image2pipe', 'pipe:1'];
}

/** Parses a portable pixmap (ppm(5)). Its header is `P6`, width, height and maximum value; three bytes for each pixel follow. */
function rawFrame(end: ProgramOutcome): Frame {
  const head = /^P6\s(\d+)\s(\d+)\s255\s/.exec(String.fromCharCode(...end.output.subarray(0, 64)));
  const [whole = '', width = '', height = ''] = head ?? [];
  const bytes = end.output.slice(whole.length);
  if (!head || bytes.length !== Number(width) * Number(height) * 3) throw captureFailed(FFMPEG, end);
  return { bytes, format: 'raw', width: Number(width), height: Number(height) };
}

/** Names of the camera program. Raspberry Pi OS has the first since version 12; older versions have the second. */
const RPICAM_PROGRAMS = ['rpicam-still', 'libcamera-still'] as const;
/** Time in milliseconds that the camera gets to adjust exposure and white balance. */
const SETTLE_MS = 500;
/** Size of a picture if the request states none. A full picture of a 12-megapixel sensor would be too large for a result. */
const DEFAULT_SIZE: FrameSize = { width: 1280, height: 960 };

/**
 * Takes a picture by rpicam-still of Raspberry Pi OS, with a camera that is connected to the board. Rejects like `runProgram`, and with
 * SERVICE_UNAVAILABLE and the program's message if rpicam-still fails.
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

/** Returns the size of the picture. Computes a side that is absent, since rpicam-still would use the sensor's side and crop the picture. */
async function frameSize(camera: number, { width, height }: Partial<FrameSize>, run: PictureRun): Promise<FrameSize> {
  if (width !== undefined && height !== undefined) return { width, height };
  if (width === undefined && height === undefined) return DEFAULT_SIZE;
  const sensor = await sensorSize(camera, run);
  const scale = Math.min(1, (width ?? sensor.width) / sensor.width, (height ?? sensor.height) / sensor.height);
  // A computed side must be even, since each colour sample covers two by two pixels.
  const following = (side: number) => Math.max(2, 2 * Math.round((side * scale) / 2));
  const sideOf = (given: number | undefined, own: number) => (given === undefined ? following(own) : Math.min(given, own));
  return { width: sideOf(width, sensor.width), height: sideOf(height, sensor.height) };
}

/** Reads the sensor's size from rpicam-still's list of cameras. A line looks like `0 : imx708 [4608x2592 10-bit RGGB] (/base/soc/…)`. */
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

/** A program to run, with its arguments. It runs without a shell. */
interface ProgramRun {
  readonly program: string;
  readonly args: readonly string[];
  readonly input?: string | Uint8Array;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly maxBytes: number;
}

/** Options of `runProgram` that do not depend on the program: environment variables, signal, and maximum size of the output. */
export type PictureRun = Pick<ProgramRun, 'env' | 'signal' | 'maxBytes'>;

interface ProgramOutcome {
  /** null if a signal ended the program. */
  readonly exitCode: number | null;
  readonly output: Uint8Array<ArrayBuffer>;
  /** The last 2,000 characters of the program's standard error. */
  readonly complaint: string;
}

const MAX_ERROR_OUTPUT = 2_000;
/** The only environment variables of the hub that a program receives. The hub's other variables may contain secrets. */
const PASSED_VARIABLES = ['PATH', 'HOME', 'LANG', 'LD_LIBRARY_PATH'];

/**
 * Runs a program to its end and returns its output. The program is killed when the signal aborts or the output is too long. Rejects with
 * NOT_SUPPORTED (the program cannot be started), PAYLOAD_TOO_LARGE (the output is too long), or the signal's reason.
 */
async function runProgram({ program, args, input, env, signal, maxBytes }: ProgramRun): Promise<ProgramOutcome> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<ProgramOutcome>();
  const passed = Object.fromEntries(PASSED_VARIABLES.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
  const child = spawn(program, args, { env: passed, stdio: ['pipe', 'pipe', 'pipe'], shell: false });
  const parts: Buffer[] = [];
  let length = 0;
  let complaint = '';
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  child.once('error', ({ message }) =>
    reject(new AtmoError('NOT_SUPPORTED', `${program} cannot be started; is it installed? (${message})`, { program })),
  );
  // The pipe emits an error if the program does not read all of its input. The program's exit code then shows whether it failed.
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
    else if (length > maxBytes) {
      const message = `What ${program} makes is larger than ${maxBytes} bytes; ask for a smaller resolution`;
      reject(new AtmoError('PAYLOAD_TOO_LARGE', message, { max_bytes: maxBytes }));
    } else resolve({ exitCode, output: new Uint8Array(Buffer.concat(parts)), complaint: complaint.trim() });
  });
  return promise.finally(() => signal.removeEventListener('abort', kill));
}

/** Returns SERVICE_UNAVAILABLE for a failed program. The message has the last line of its standard error or, without one, its exit code. */
function captureFailed(program: string, { complaint, exitCode }: ProgramOutcome): AtmoError {
  const reason = complaint.split('\n').at(-1) || `${program} ended with ${exitCode}`;
  return new AtmoError('SERVICE_UNAVAILABLE', `The camera gave no picture: ${reason}`);
}
