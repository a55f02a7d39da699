import { readdir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { GPIO_DEVICE } from '../../core/devices/gpio-ids.ts';
import { AtmoError } from '../../core/errors.ts';
import { slug } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineTool, p, resultSchema } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { fromCelsius, TEMPERATURE_UNITS } from './sensor-tools.ts';

const MAX_ZONES = 8;
const BOARD_TOOLS: ReadonlySet<string> = new Set(['docker_list', 'get_camera_frame']);

/** Returns the tools for the board's hardware: GPIO outputs, cameras and the container engine. Omits tools with a missing setting. */
export function toolsOfBoard(tools: readonly RegisteredTool[]): readonly RegisteredTool[] {
  return tools
    .filter(({ definition: { namespace, name } }) => namespace === GPIO_DEVICE || (namespace === 'core' && BOARD_TOOLS.has(name)))
    .filter(({ missingSetting }) => missingSetting?.() === undefined);
}

/** A hardware part of the board, with a hint for the owner on how tools can use it. */
export interface BoardPart {
  readonly part: 'gpio' | 'camera' | 'i2c' | 'serial' | 'container_engine';
  /** Path of the device file or socket. */
  readonly path: string;
  /** Text for the owner: how tools can use the part, and which documentation page describes it. */
  readonly next: string;
}

const KNOWN_PARTS: readonly (Omit<BoardPart, 'path'> & { readonly folder: string; readonly name: RegExp })[] = [
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

/** Returns the parts that the board has, configured or not. A folder that cannot be read counts as empty. */
export async function boardParts(root = '/'): Promise<readonly BoardPart[]> {
  const found = await Promise.all(
    KNOWN_PARTS.map(async ({ folder, name, ...part }) => {
      const names = await readdir(join(root, folder)).catch(() => []);
      return names
        .filter((file) => name.test(file))
        .sort()
        .map((file) => ({ ...part, path: join('/', folder, file) }));
    }),
  );
  return found.flat();
}

/** Returns one temperature tool for each readable thermal zone of the kernel. */
export async function probeBoard(root = '/sys'): Promise<readonly RegisteredTool[]> {
  const folder = join(root, 'class/thermal');
  const zones = (await readdir(folder).catch(() => [])).filter((name) => /^thermal_zone\d+$/.test(name)).sort();
  const found = await Promise.all(zones.slice(0, MAX_ZONES).map((zone) => thermalZoneTool(join(folder, zone), zone, root)));
  return found.filter((tool) => tool !== undefined);
}

async function thermalZoneTool(zone: string, fallback: string, root: string): Promise<RegisteredTool | undefined> {
  const device = join(zone, 'temp');
  if ((await readFile(device).catch(() => undefined)) === undefined) return undefined;
  const type = await readFile(join(zone, 'type'), 'utf8').catch(() => fallback);
  const number = fallback.slice('thermal_zone'.length);
  return thermalTool(`board_temperature_${slug(type, '_') || 'zone'}_${number}`, { device }, root);
}

const MILLIDEGREE = /^-?\d{1,7}\s*$/;
/** Matches the short form of a thermal zone in manifests, such as `/dev/thermal0`. The kernel has no device file of this name. */
const ZONE = /^\/dev\/thermal(\d{1,3})$/;

/**
 * Returns the tool for a manifest with `source: builtin:thermal`. The tool reads a temperature from a file of the kernel, which contains
 * millidegrees Celsius (Documentation/ABI/testing/sysfs-class-thermal). `config.device` is the path of this file, such as
 * `/sys/class/thermal/thermal_zone0/temp`, or the short form `/dev/thermal0`. Throws CONFIG_INVALID for a path outside of `root`.
 */
export function thermalTool(name: string, config: JsonObject, root = '/sys'): RegisteredTool {
  const device = typeof config.device === 'string' ? config.device.replace(ZONE, `${root}/class/thermal/thermal_zone$1/temp`) : '';
  if (!device.startsWith(`${root}/`)) {
    throw new AtmoError(
      'CONFIG_INVALID',
      `The tool ${name} needs config.device, a temperature file below ${root}, such as ${root}/class/thermal/thermal_zone0/temp`,
    );
  }
  return defineTool(
    {
      name,
      title: 'Board temperature',
      description: `Reads the temperature that the board tells in ${device}.`,
      category: 'sensing',
      namespace: 'custom',
      hasSideEffects: false,
      parameters: { unit: p.enum(TEMPERATURE_UNITS, { description: 'Unit of the answer', default: 'celsius' }) },
      returns: resultSchema({ value: { type: 'number' }, unit: { enum: TEMPERATURE_UNITS } }),
    },
    async ({ unit }) => ({ value: fromCelsius(await readCelsius(device, root), unit), unit }),
  );
}

async function readCelsius(device: string, root: string): Promise<number> {
  const text = await readInside(device, root);
  if (MILLIDEGREE.test(text)) return Number(text) / 1000;
  throw new AtmoError('RESULT_INVALID', `${device} holds ${JSON.stringify(text.slice(0, 32))}, not millidegrees`);
}

// Paths below `/sys/class` contain symbolic links. The file is read only if its resolved path is below `root`.
async function readInside(device: string, root: string): Promise<string> {
  try {
    const path = await realpath(device);
    if (path.startsWith(`${await realpath(root)}/`)) return await readFile(path, 'utf8');
  } catch (error) {
    throw new AtmoError('DEVICE_UNREACHABLE', `${device} cannot be read; is the sensor still there?`, {}, { cause: error });
  }
  throw new AtmoError('PERMISSION_DENIED', `${device} leads outside of ${root}`);
}
