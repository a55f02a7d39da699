import { agentTools } from '../src/automations/agent-tools.ts';
import { checkAutomationTool } from '../src/automations/check/check-tools.ts';
import { flagTools } from '../src/automations/house/flag-tools.ts';
import { presenceTools } from '../src/automations/house/presence-tools.ts';
import { convertAutomationTool } from '../src/automations/plan/convert-tool.ts';
import { registrationTools } from '../src/calls/builtin/registration-tools.ts';
import { jobTools } from '../src/calls/jobs/job-directory.ts';
import { authTools } from '../src/hub/tool-services.ts';
import { meshTools } from '../src/mesh/mesh-tools.ts';
import { classTools } from '../src/profiles/tools/class-tools.ts';
import { controlMatterDevice } from '../src/profiles/tools/control-matter-device.ts';
import { outputTools } from '../src/sensors/gpio/gpio-outputs.ts';
import { basicTools } from '../src/tools/builtin/basic-tools.ts';
import { deviceAdminTools } from '../src/tools/builtin/device-tools.ts';
import { homeNameTools } from '../src/tools/builtin/home-name-tools.ts';
import { sensorTools } from '../src/tools/builtin/sensor-tools.ts';
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
  ...authTools(anything, anything, anything),
  ...meshTools(anything),
  ...agentTools(anything, anything),
  checkAutomationTool(anything),
  convertAutomationTool(anything, anything),
  ...flagTools(anything, anything),
  ...presenceTools(anything, anything),
  ...registrationTools(anything),
  ...deviceAdminTools(anything),
  ...homeNameTools(anything),
  ...classTools(anything),
  controlMatterDevice(anything),
  ...outputTools(anything, { name: 'pump', line: 4 } as never),
];
