import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { ClassToolPorts } from './class-tool.ts';
import { controlDevice } from './control-device.ts';
import { turnOffLight, turnOnLight } from './light-tools.ts';
import { setCover } from './set-cover.ts';
import { setThermostat } from './set-thermostat.ts';

/** Core tools over any fitting device (source 000 §5); they use the device's own tools, with the same effects and risk. */
export function classTools(ports: ClassToolPorts): readonly RegisteredTool[] {
  return [turnOnLight(ports), turnOffLight(ports), setThermostat(ports), setCover(ports), controlDevice(ports)];
}
