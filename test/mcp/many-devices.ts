import { parseDeviceId } from '../../src/core/devices/device-names.ts';
import { describeDeviceType } from '../fixtures/describe-standard.ts';
import { makeHttpApi } from '../http/http-fixture.ts';
import { ToolHarness } from '../profiles/tool-harness.ts';

/** A httpApi over a home with such devices (area and standard type), with the tools that the profiles make for them and the class tools. */
export async function homeWith(...devices: readonly (readonly [area: string, type: string])[]) {
  const descriptions = devices.map(([area, type], index) => {
    const name = `${area} ${type} ${index}`;
    const id = parseDeviceId(name.toLowerCase().replaceAll(' ', '-'));
    return describeDeviceType(type, { device: { id, name, area } });
  });
  const { registry } = await new ToolHarness(...descriptions).start();
  const setup = makeHttpApi();
  for (const tool of registry.all()) setup.registry.register(tool);
  setup.directory.devices = descriptions.map(({ device }) => device);
  return setup;
}
