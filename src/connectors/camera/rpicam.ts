import { AtmoError } from '../../core/errors.ts';
import type { Bounds, Frame, FrameRequest } from './frame-source.ts';
import { pictureSize } from './picture-size.ts';
import { noPicture, type PictureRun, type ProgramEnd, type ProgramRun, runProgram } from './run-program.ts';

/** The name since Raspberry Pi OS 12, and the one before. */
const PROGRAMS = ['rpicam-still', 'libcamera-still'] as const;
/** Exposure and white balance need some frames to settle, in milliseconds. */
const SETTLE_MS = 500;
/** A sensor of 12 megapixels would make pictures that no caller can take. */
const DEFAULT_SIZE: Size = { width: 1280, height: 960 };

interface Size {
  readonly width: number;
  readonly height: number;
}

/**
 * A picture by a camera at the board's own connector (rpicam-still of Raspberry Pi OS). Errors: those of `runProgram`;
 * SERVICE_UNAVAILABLE with what the program says when there is no picture.
 */
export async function rpicamFrame(camera: number, request: FrameRequest, run: PictureRun): Promise<Frame> {
  const { width, height } = await sizeFor(camera, request.within ?? DEFAULT_SIZE, run);
  const end = await runFirst({ ...run, args: argsOf(camera, request, { width, height }) });
  if (end.exitCode !== 0) throw noPicture(PROGRAMS[0], end);
  if (request.format !== 'raw') {
    const size = pictureSize(end.output);
    if (size) return { bytes: end.output, format: request.format, width: size.width, height: size.height };
  }
  if (request.format === 'raw' && end.output.length === width * height * 3) return { bytes: end.output, format: 'raw', width, height };
  throw noPicture(PROGRAMS[0], end);
}

/** rpicam-still fills a side that is not said with all that the sensor has, and cuts off what then does not fit. */
async function sizeFor(camera: number, { width, height }: Bounds, run: PictureRun): Promise<Size> {
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
async function sensorSize(camera: number, run: PictureRun): Promise<Size> {
  const end = await runFirst({ ...run, args: ['--list-cameras'] });
  const list = `${Buffer.from(end.output).toString('utf8')}\n${end.complaint}`;
  const [, width, height] = new RegExp(`^\\s*${camera} : [^[\\n]*\\[(\\d+)x(\\d+)`, 'm').exec(list) ?? [];
  if (width !== undefined && height !== undefined) return { width: Number(width), height: Number(height) };
  throw new AtmoError('NOT_SUPPORTED', `The camera ${camera} of the board does not tell its shape; say both width and height`);
}

function argsOf(camera: number, { format, quality }: FrameRequest, { width, height }: Size): readonly string[] {
  const encoding = { jpeg: 'jpg', png: 'png', raw: 'rgb24' }[format];
  const size = ['--width', String(width), '--height', String(height)];
  const output = ['--encoding', encoding, '--quality', String(quality), '--output', '-'];
  return ['--camera', String(camera), '--nopreview', '--timeout', String(SETTLE_MS), ...size, ...output];
}

async function runFirst(run: Omit<ProgramRun, 'program'>): Promise<ProgramEnd> {
  const [program, older] = PROGRAMS;
  try {
    return await runProgram({ ...run, program });
  } catch (error) {
    if (error instanceof AtmoError && error.code === 'NOT_SUPPORTED') return runProgram({ ...run, program: older });
    throw error;
  }
}
