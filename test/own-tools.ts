import { agentTools } from '../src/agents/agent-tools.ts';
import { accessTools } from '../src/hub/access-tools.ts';
import { meshTools } from '../src/mesh/mesh-tools.ts';
import { classTools } from '../src/profiles/class-tools/class-tools.ts';
import { controlMatterDevice } from '../src/profiles/device-tools/control-matter-device.ts';
import { outputTools } from '../src/sensors/gpio/output-tools.ts';
import { basicTools } from '../src/tools/builtin/basic-tools.ts';
import { deviceAdminTools } from '../src/tools/builtin/devices/device-admin-tools.ts';
import { homeNameTools } from '../src/tools/builtin/devices/home-name-tools.ts';
import { jobTools } from '../src/tools/builtin/job-tools.ts';
import { registrationTools } from '../src/tools/builtin/registration-tools.ts';
import { sensorTools } from '../src/tools/builtin/sensors/sensor-tools.ts';
import type { RegisteredTool } from '../src/tools/definition/tool-definition.ts';

/** Collaborators of tools whose definitions alone are looked at: every member of them is such a one again. */
export const anything: never = new Proxy(() => undefined, {
  get: (_target, key) => (key === Symbol.iterator ? () => [][Symbol.iterator]() : key === Symbol.toPrimitive ? () => 'a' : anything),
  apply: () => anything,
}) as never;

/** The tools that a hub brings along without devices and connectors, none of which can be called. */
export const ownTools: readonly RegisteredTool[] = [
  ...basicTools,
  ...jobTools(anything),
  ...sensorTools(anything),
  ...accessTools(anything, anything, anything),
  ...meshTools(anything),
  ...agentTools(anything),
  ...registrationTools(anything),
  ...deviceAdminTools(anything),
  ...homeNameTools(anything),
  ...classTools(anything),
  controlMatterDevice(anything),
  ...outputTools(anything, { name: 'pump', line: 4 } as never),
];
