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
