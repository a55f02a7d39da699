import { join } from 'node:path';
import type { DeviceDescription } from '../../src/core/devices/device-model.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { compileDevice } from '../../src/profiles/compile/compile-device.ts';
import type { CompiledDevice, DeviceTool } from '../../src/profiles/compile/compiled-device.ts';
import { loadProfiles } from '../../src/profiles/files/load-profiles.ts';
import { runDeviceTool } from '../../src/profiles/tools/run-device-tool.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { describeDeviceType, type StandardDeviceOptions } from '../fixtures/describe-standard.ts';
import { FakeHome } from './fake-home.ts';

export const PROFILE_DIRECTORY = join(import.meta.dirname, '../../device-profiles');
export const profiles = loadProfiles(PROFILE_DIRECTORY);
export const validator = new SchemaValidator();

/** A device of a standard type under a name of its own. */
export function described(type: string, options: StandardDeviceOptions = {}): DeviceDescription {
  return describeDeviceType(type, options);
}

/** Compiles a device of the home with what the home knows of its values. */
export function compiledIn(home: FakeHome, description: DeviceDescription): CompiledDevice {
  const device = description.device.id;
  return compileDevice(
    description,
    profiles,
    (endpoint, cluster, attribute) => home.cached({ device, endpoint, cluster, attribute })?.value,
  );
}

/** A home of one device on endpoint 1 that told these raw values, by `Cluster.Attribute`. */
export function homeWith(description: DeviceDescription, told: Readonly<Record<string, Json>> = {}) {
  const home = new FakeHome(description);
  const { id } = description.device;
  for (const [path, value] of Object.entries(told)) {
    const [cluster = '', attribute = ''] = path.split('.');
    home.report({ device: id, endpoint: 1, cluster, attribute }, value);
  }
  return { home, compiled: compiledIn(home, description), id };
}

export function toolOf(compiled: CompiledDevice, action: string): DeviceTool {
  const found = compiled.tools.find((tool) => tool.action === action);
  if (found) return found;
  throw new AtmoError('TOOL_NOT_FOUND', `There is no ${action} among ${compiled.tools.map((tool) => tool.action).join(', ')}`);
}

/** Runs a tool as the pipeline does: parameters checked, defaults filled in. */
export function runTool(
  home: FakeHome,
  compiled: CompiledDevice,
  call: { readonly action: string; readonly params?: JsonObject },
): Promise<JsonObject> {
  const tool = toolOf(compiled, call.action);
  const params = validator.parameters(tool.parameters, call.params ?? {});
  return runDeviceTool(compiled, tool, { params, call: { access: home, signal: new AbortController().signal, nowMs: 5000 } });
}
