import { AtmoError } from '../../core/errors.ts';
import type { Frame, FrameRequest } from './frame-source.ts';
import { pictureSize } from './picture-size.ts';
import { noPicture, type PictureRun, type ProgramEnd, type ProgramRun, runProgram } from './run-program.ts';

/** The name since Raspberry Pi OS 12, and the one before. */
const PROGRAMS = ['rpicam-still', 'libcamera-still'] as const;
/** Exposure and white balance need some frames to settle, in milliseconds. */
const SETTLE_MS = 500;
/** A sensor of 12 megapixels would make pictures that no caller can take. */
const DEFAULT_SIZE = { width: 1280, height: 960 };

/**
 * A picture by a camera at the board's own connector (rpicam-still of Raspberry Pi OS). Errors: those of `runProgram`;
 * SERVICE_UNAVAILABLE with what the program says when there is no picture.
 */
export async function rpicamFrame(camera: number, request: FrameRequest, run: PictureRun): Promise<Frame> {
  const { width, height } = request.within ?? DEFAULT_SIZE;
  const end = await runFirst({ ...run, args: argsOf(camera, request, { width, height }) });
  if (end.exitCode !== 0) throw noPicture(PROGRAMS[0], end);
  if (request.format !== 'raw') {
    const size = pictureSize(end.output);
    if (size) return { bytes: end.output, format: request.format, width: size.width, height: size.height };
  }
  if (request.format === 'raw' && end.output.length === width * height * 3) return { bytes: end.output, format: 'raw', width, height };
  throw noPicture(PROGRAMS[0], end);
}

function argsOf(camera: number, { format, quality }: FrameRequest, { width, height }: typeof DEFAULT_SIZE): readonly string[] {
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
