import type { CapabilityFile } from '../files/capability-file.ts';
import type { DeviceFile } from '../files/device-file.ts';
import type { RawProfileFile } from '../files/profile-files.ts';
import { matchKey } from '../files/profile-set.ts';
import { CheckReport } from './check-report.ts';
import type { ProfileProblem } from './profile-problem.ts';
import type { StandardModel } from './standard-view.ts';

interface DeviceContext {
  readonly capabilities: ReadonlyMap<string, CapabilityFile>;
  readonly model: StandardModel;
}

/** Mistakes in the meaning of device files: types, capabilities, tools, and two files for one device. */
export function checkDevices(files: readonly RawProfileFile[], model: StandardModel): readonly ProfileProblem[] {
  const capabilities = new Map(
    files.filter((file) => file.kind === 'capabilities').map((file) => [file.id, file.content as CapabilityFile]),
  );
  const first = new Map<string, string>();
  return files
    .filter((file) => file.kind === 'devices')
    .flatMap((file) => {
      const report = new CheckReport(file.path);
      const content = file.content as DeviceFile;
      checkMatch(report, content, model);
      checkCapabilities(report, content, { capabilities, model });
      checkTools(report, content, capabilities);
      const key = matchKey(content.match);
      const other = first.get(key);
      if (other === undefined) first.set(key, file.path);
      else report.add('/match', `${other} matches the same devices`, 'make one of the two more specific, or merge them');
      return report.problems;
    });
}

function checkMatch(report: CheckReport, content: DeviceFile, model: StandardModel): void {
  const { deviceType } = content.match;
  if (deviceType === undefined || model.deviceTypes.some((type) => type.name === deviceType)) return;
  report.unknown(
    '/match/deviceType',
    deviceType,
    model.deviceTypes.map((type) => type.name),
  );
}

function checkCapabilities(report: CheckReport, content: DeviceFile, { capabilities, model }: DeviceContext): void {
  const type = model.deviceTypes.find((one) => one.name === content.match.deviceType);
  const seen = new Map<string, string>();
  content.capabilities.forEach((id, index) => {
    const pointer = `/capabilities/${index}`;
    const cluster = capabilities.get(id)?.cluster;
    if (cluster === undefined) {
      report.unknown(pointer, id, [...capabilities.keys()]);
      return;
    }
    const other = seen.get(cluster);
    if (other !== undefined) report.add(pointer, `${id} and ${other} are both about ${cluster}`, 'name one of them');
    seen.set(cluster, id);
    const isProduct = content.match.vendorId !== undefined;
    if (!isProduct && type && !type.clusters.some((one) => one.name === cluster)) {
      report.add(pointer, `a ${type.name} has no ${cluster}`, 'remove it; a device that has the cluster anyway gets its usual capability');
    }
  });
}

function checkTools(report: CheckReport, content: DeviceFile, capabilities: ReadonlyMap<string, CapabilityFile>): void {
  const own = content.capabilities.flatMap((id) => Object.keys(capabilities.get(id)?.tools ?? {}));
  const usual = [...capabilities.values()].filter((one) => !one.variant).flatMap((one) => Object.keys(one.tools ?? {}));
  const tools = content.capabilities.length > 0 ? own : usual;
  for (const name of Object.keys(content.overrides ?? {})) if (!tools.includes(name)) report.unknown(`/overrides/${name}`, name, tools);
  const values = content.capabilities.flatMap((id) => Object.keys(capabilities.get(id)?.values ?? {}));
  for (const name of Object.keys(content.titles ?? {})) if (!values.includes(name)) report.unknown(`/titles/${name}`, name, values);
  for (const name of content.without ?? []) if (!tools.includes(name)) report.unknown('/without', name, tools);
}
