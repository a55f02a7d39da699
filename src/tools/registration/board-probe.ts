import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { slug } from '../../core/ids.ts';
import { thermalTool } from '../builtin/sensors/thermal-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';

const MAX_ZONES = 8;
const GPIO = 'gpio';
const OF_BOARD: ReadonlySet<string> = new Set(['docker_list', 'get_camera_frame']);

/** Of a hub's tools those that are there because of what is on its board and configured: GPIO outputs, cameras, a container engine. */
export function toolsOfBoard(tools: readonly RegisteredTool[]): readonly RegisteredTool[] {
  return tools
    .filter(({ definition: { namespace, name } }) => namespace === GPIO || (namespace === 'core' && OF_BOARD.has(name)))
    .filter(({ missingSetting }) => missingSetting?.() === undefined);
}

/** Something on the board that takes a setting before tools can use it. */
export interface BoardPart {
  readonly part: 'gpio' | 'camera' | 'i2c' | 'serial' | 'container_engine';
  /** Device file or socket. */
  readonly path: string;
  /** What to set, and the page that says how. */
  readonly next: string;
}

const PARTS: readonly (Omit<BoardPart, 'path'> & { readonly folder: string; readonly name: RegExp })[] = [
  { part: 'gpio', folder: 'dev', name: /^gpiochip\d+$/, next: 'name its lines under sensors.gpio (docs/gpio.md)' },
  { part: 'camera', folder: 'dev', name: /^video\d+$/, next: 'name it under connectors.cameras (docs/cameras.md)' },
  { part: 'i2c', folder: 'dev', name: /^i2c-\d+$/, next: 'chips with a kernel driver are sensors by themselves (docs/sensors.md)' },
  { part: 'serial', folder: 'dev', name: /^tty(?:USB|ACM)\d+$/, next: 'name it under sensors.serial (docs/sensors.md)' },
  { part: 'container_engine', folder: 'run', name: /^docker\.sock$/, next: 'allow images under connectors.sandbox (docs/sandbox.md)' },
  {
    part: 'container_engine',
    folder: 'run/podman',
    name: /^podman\.sock$/,
    next: 'allow images under connectors.sandbox (docs/sandbox.md)',
  },
];

/** What the board has, configured or not; nothing where a folder cannot be read. */
export async function boardParts(root = '/'): Promise<readonly BoardPart[]> {
  const found = await Promise.all(
    PARTS.map(async ({ folder, name, ...part }) => {
      const names = await readdir(join(root, folder)).catch(() => []);
      return names
        .filter((file) => name.test(file))
        .sort()
        .map((file) => ({ ...part, path: join('/', folder, file) }));
    }),
  );
  return found.flat();
}

/** Tools that this board makes possible: one for each thermal zone of the kernel. Nothing is an error here, it is just not there. */
export async function probeBoard(root = '/sys'): Promise<readonly RegisteredTool[]> {
  const folder = join(root, 'class/thermal');
  const zones = (await readdir(folder).catch(() => [])).filter((name) => /^thermal_zone\d+$/.test(name)).sort();
  const found = await Promise.all(zones.slice(0, MAX_ZONES).map((zone) => thermalOf(join(folder, zone), zone, root)));
  return found.filter((tool) => tool !== undefined);
}

async function thermalOf(zone: string, fallback: string, root: string): Promise<RegisteredTool | undefined> {
  const device = join(zone, 'temp');
  const isReadable = await readFile(device).then(
    () => true,
    () => false,
  );
  if (!isReadable) return undefined;
  const type = await readFile(join(zone, 'type'), 'utf8').catch(() => fallback);
  const number = fallback.slice('thermal_zone'.length);
  return thermalTool(`board_temperature_${slug(type, '_') || 'zone'}_${number}`, { device }, root);
}
