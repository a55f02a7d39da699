import { readFile, realpath } from 'node:fs/promises';
import { AtmoError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../core/json.ts';
import { defineTool } from '../../definition/define-tool.ts';
import type { RegisteredTool } from '../../definition/tool-definition.ts';
import { p } from '../../schema/parameter-builder.ts';
import { fromCelsius } from './sensor-tools.ts';

const UNITS = ['celsius', 'fahrenheit', 'kelvin'] as const;
const MILLIDEGREE = /^-?\d{1,7}\s*$/;
/** What source 000 §2 calls the first zone; the kernel has no such file. */
const ZONE = /^\/dev\/thermal(\d{1,3})$/;

/**
 * Maker of `builtin:thermal` for the manifest: a tool that reads one temperature file of the kernel, `config.device`,
 * such as `/sys/class/thermal/thermal_zone0/temp` (millidegrees Celsius: Documentation/ABI/testing/sysfs-class-thermal), or
 * `/dev/thermal0` for the same. CONFIG_INVALID for a path outside of `root`.
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
      parameters: { unit: p.enum(UNITS, { description: 'Unit of the answer', default: 'celsius' }) },
      returns: { type: 'object', required: ['value', 'unit'], properties: { value: { type: 'number' }, unit: { enum: UNITS } } },
    },
    async ({ unit }) => ({ value: fromCelsius(await readCelsius(device, root), unit), unit }),
  );
}

async function readCelsius(device: string, root: string): Promise<number> {
  const text = await readInside(device, root);
  if (MILLIDEGREE.test(text)) return Number(text) / 1000;
  throw new AtmoError('RESULT_INVALID', `${device} holds ${JSON.stringify(text.slice(0, 32))}, not millidegrees`);
}

// Class folders are links to where the device really is, which has to be below the same root.
async function readInside(device: string, root: string): Promise<string> {
  try {
    const path = await realpath(device);
    if (path.startsWith(`${await realpath(root)}/`)) return await readFile(path, 'utf8');
  } catch (error) {
    throw new AtmoError('DEVICE_UNREACHABLE', `${device} cannot be read; is the sensor still there?`, {}, { cause: error });
  }
  throw new AtmoError('PERMISSION_DENIED', `${device} leads outside of ${root}`);
}
