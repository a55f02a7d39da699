import type { ClusterDescription } from '../../core/devices/device-model.ts';
import { ProfileSchemaCheck, type ProfileSchemas, type RawProfileFile } from '../files/load-profiles.ts';
import type { CapabilityFile, DeviceFile, ProfileProblem, ValueEntry } from '../files/profile-format.ts';
import { elementsOf, matchKey } from '../files/profile-set.ts';
import { rawKind } from '../values/converter.ts';
import { checkChoices, checkConversion, checkTool } from './check-tool.ts';
import { CheckReport, namesOf, type StandardClusterModel } from './profile-problem.ts';

/** Returns all mistakes in a set of profile files. If a file does not match its JSON Schema, its names and values are not checked. */
export function checkProfiles(
  files: readonly RawProfileFile[],
  schemas: ProfileSchemas,
  model: StandardClusterModel,
): readonly ProfileProblem[] {
  const schemaCheck = new ProfileSchemaCheck(schemas);
  const ofForm = files.map((file) => ({ file, problems: schemaCheck.problems(file) }));
  const right = ofForm.filter(({ problems }) => problems.length === 0).map(({ file }) => file);
  const capabilities = capabilitiesOf(right);
  return [
    ...ofForm.flatMap(({ problems }) => problems),
    ...capabilities.flatMap((one) => checkCapability(one.file, one.content, model)),
    ...twoUsualOnes(capabilities),
    ...checkDevices(right, { capabilities: new Map(capabilities.map(({ file, content }) => [file.id, content])), model }),
  ];
}

interface CheckedCapability {
  readonly file: RawProfileFile;
  readonly content: CapabilityFile;
}

function capabilitiesOf(files: readonly RawProfileFile[]): readonly CheckedCapability[] {
  return files.filter((file) => file.kind === 'capabilities').map((file) => ({ file, content: file.content as CapabilityFile }));
}

function twoUsualOnes(capabilities: readonly CheckedCapability[]): readonly ProfileProblem[] {
  const usual = Map.groupBy(
    capabilities.filter(({ content }) => !content.variant),
    ({ content }) => content.cluster,
  );
  return [...usual].flatMap(([cluster, [first, ...others]]) =>
    others.map(({ file }) => ({
      file: file.path,
      pointer: '/cluster',
      problem: `${cluster} already has a usual capability in ${first?.file.id ?? ''}.json`,
      fix: 'add "variant": true and name this file in device files',
    })),
  );
}

/** Reports names in a capability file that the Matter model lacks, and converters that do not fit the value. */
function checkCapability(file: RawProfileFile, content: CapabilityFile, model: StandardClusterModel): readonly ProfileProblem[] {
  const report = new CheckReport(file.path);
  const cluster = report.cluster('/cluster', content.cluster, model);
  if (!cluster) return report.problems;
  for (const [name, value] of Object.entries(content.values ?? {})) checkValue(report, `/values/${name}`, { value, cluster, model });
  for (const [name, tool] of Object.entries(content.tools ?? {})) checkTool(report, { name, tool, content, cluster, model });
  for (const [event, { titleBy }] of Object.entries(content.events ?? {})) {
    const found = report.find(`/events/${event}`, event, cluster.events);
    if (found && titleBy) report.field(`/events/${event}/titleBy/member`, titleBy.member, found.schema);
  }
  checkRisks(report, content, cluster);
  return report.problems;
}

function checkValue(
  report: CheckReport,
  pointer: string,
  given: { readonly value: ValueEntry; readonly cluster: ClusterDescription; readonly model: StandardClusterModel },
): void {
  const { value } = given;
  const home = value.cluster === undefined ? given.cluster : report.cluster(`${pointer}/cluster`, value.cluster, given.model);
  const attribute = home && report.find(`${pointer}/attribute`, value.attribute, home.attributes);
  if (!attribute) return;
  const member = value.member === undefined ? attribute.schema : report.field(`${pointer}/member`, value.member, attribute.schema);
  if (!member) return;
  if (value.readingUnless !== undefined) report.find(`${pointer}/readingUnless`, value.readingUnless, given.cluster.attributes);
  checkConversion(report, pointer, { entry: value, schema: rawKind(attribute.schema) === 'bitmap' ? attribute.schema : member });
  if (value.choices) checkChoices(report, pointer, { choices: value.choices, cluster: home, model: given.model });
}

function checkRisks(report: CheckReport, content: CapabilityFile, cluster: ClusterDescription): void {
  const elements = [...namesOf(cluster.commands), ...namesOf(cluster.attributes.filter((attribute) => attribute.writable))];
  const used = new Set(Object.values(content.tools ?? {}).flatMap(elementsOf));
  for (const element of Object.keys(content.risks ?? {})) {
    report.requireKnown(`/risks/${element}`, element, elements);
    if (used.has(element))
      report.add(`/risks/${element}`, `a tool of this file already says the risk of ${element}`, 'remove one of the two');
  }
  if (content.variant) return;
  const stated = new Set([...used, ...Object.keys(content.risks ?? {})]);
  for (const { name, privilege } of cluster.commands) {
    // A file need not state the risk of a command with the privilege `administer`: such a command counts as dangerous anyway.
    if (privilege === 'administer' || stated.has(name)) continue;
    report.add('/risks', `the risk of the command ${name} is stated nowhere`, `add "${name}": "low", "medium" or "dangerous"`);
  }
}

interface DeviceContext {
  readonly capabilities: ReadonlyMap<string, CapabilityFile>;
  readonly model: StandardClusterModel;
}

/** Reports unknown device types, capabilities, tools and values in device files, and device files with the same match. */
function checkDevices(files: readonly RawProfileFile[], context: DeviceContext): readonly ProfileProblem[] {
  const { capabilities, model } = context;
  const first = new Map<string, string>();
  return files
    .filter((file) => file.kind === 'devices')
    .flatMap((file) => {
      const report = new CheckReport(file.path);
      const content = file.content as DeviceFile;
      if (content.match.deviceType !== undefined) report.find('/match/deviceType', content.match.deviceType, model.deviceTypes);
      checkCapabilities(report, content, context);
      checkTools(report, content, capabilities);
      const key = matchKey(content.match);
      const other = first.get(key);
      if (other === undefined) first.set(key, file.path);
      else report.add('/match', `${other} matches the same devices`, 'make one of the two more specific, or merge them');
      return report.problems;
    });
}

function checkCapabilities(report: CheckReport, content: DeviceFile, { capabilities, model }: DeviceContext): void {
  const type = model.deviceTypes.find((one) => one.name === content.match.deviceType);
  const seen = new Map<string, string>();
  content.capabilities.forEach((id, index) => {
    const pointer = `/capabilities/${index}`;
    const cluster = capabilities.get(id)?.cluster;
    if (!report.requireKnown(pointer, id, [...capabilities.keys()]) || cluster === undefined) return;
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
  for (const name of Object.keys(content.overrides ?? {})) report.requireKnown(`/overrides/${name}`, name, tools);
  const values = content.capabilities.flatMap((id) => Object.keys(capabilities.get(id)?.values ?? {}));
  for (const name of Object.keys(content.titles ?? {})) report.requireKnown(`/titles/${name}`, name, values);
  for (const name of content.without ?? []) report.requireKnown('/without', name, tools);
}
