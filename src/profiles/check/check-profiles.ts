import type { ClusterDescription } from '../../core/devices/device-model.ts';
import type { JsonSchema } from '../../core/json.ts';
import { ProfileSchemaCheck, type ProfileSchemas, type RawProfileFile } from '../files/load-profiles.ts';
import type { CapabilityFile, DeviceFile, ValueEntry } from '../files/profile-format.ts';
import { elementsOf, matchKey } from '../files/profile-set.ts';
import { rawKind } from '../values/converter.ts';
import { memberOf } from '../values/converters.ts';
import { checkChoices, checkConversion, checkTool } from './check-tool.ts';
import { CheckReport, type ProfileProblem, type StandardClusterModel } from './profile-problem.ts';

/** All mistakes in a set of profile files: form first, and meaning for those whose form is right. Empty when all is well. */
export function checkProfiles(
  files: readonly RawProfileFile[],
  schemas: ProfileSchemas,
  model: StandardClusterModel,
): readonly ProfileProblem[] {
  const schemaCheck = new ProfileSchemaCheck(schemas);
  const ofForm = files.map((file) => ({ file, problems: schemaCheck.problems(file) }));
  const right = ofForm.filter(({ problems }) => problems.length === 0).map(({ file }) => file);
  return [
    ...ofForm.flatMap(({ problems }) => problems),
    ...capabilitiesOf(right).flatMap((one) => checkCapability(one.file, one.content, model)),
    ...twoUsualOnes(capabilitiesOf(right)),
    ...checkDevices(right, model),
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

/** Mistakes in the meaning of a capability file: does the standard have what it names, and do converters fit? */
function checkCapability(file: RawProfileFile, content: CapabilityFile, model: StandardClusterModel): readonly ProfileProblem[] {
  const report = new CheckReport(file.path);
  const cluster = model.cluster(content.cluster);
  if (!cluster) {
    report.unknown('/cluster', content.cluster, model.clusterNames);
    return report.problems;
  }
  for (const [name, value] of Object.entries(content.values ?? {})) checkValue(report, `/values/${name}`, { value, cluster, model });
  for (const [name, tool] of Object.entries(content.tools ?? {})) checkTool(report, { name, tool, content, cluster, model });
  for (const [event, { titleBy }] of Object.entries(content.events ?? {})) {
    const found = named(cluster.events, event);
    if (!found) report.unknown(`/events/${event}`, event, namesOf(cluster.events));
    const members = (found?.schema.properties ?? {}) as Record<string, never>;
    if (found && titleBy && memberOf(members, titleBy.member) === undefined) {
      report.unknown(`/events/${event}/titleBy/member`, titleBy.member, Object.keys(members));
    }
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
  const home = value.cluster === undefined ? given.cluster : given.model.cluster(value.cluster);
  if (!home) {
    report.unknown(`${pointer}/cluster`, value.cluster ?? '', given.model.clusterNames);
    return;
  }
  const attribute = named(home.attributes, value.attribute);
  if (!attribute) {
    report.unknown(`${pointer}/attribute`, value.attribute, namesOf(home.attributes));
    return;
  }
  const properties = (attribute.schema.properties ?? {}) as Record<string, never>;
  const isFlag = value.member !== undefined && rawKind(attribute.schema) === 'bitmap';
  const member = value.member === undefined ? undefined : (memberOf(properties, value.member) as JsonSchema | undefined);
  if (value.member !== undefined && !member) {
    report.unknown(`${pointer}/member`, value.member, Object.keys(properties));
    return;
  }
  if (value.readingUnless !== undefined && !named(given.cluster.attributes, value.readingUnless)) {
    report.unknown(`${pointer}/readingUnless`, value.readingUnless, namesOf(given.cluster.attributes));
  }
  checkConversion(report, pointer, { entry: value, schema: isFlag ? attribute.schema : (member ?? attribute.schema) });
  if (value.choices) checkChoices(report, pointer, { choices: value.choices, cluster: home, model: given.model });
}

function checkRisks(report: CheckReport, content: CapabilityFile, cluster: ClusterDescription): void {
  const elements = [...namesOf(cluster.commands), ...namesOf(cluster.attributes.filter((attribute) => attribute.writable))];
  const used = new Set(Object.values(content.tools ?? {}).flatMap(elementsOf));
  for (const element of Object.keys(content.risks ?? {})) {
    if (!elements.includes(element)) report.unknown(`/risks/${element}`, element, elements);
    if (used.has(element))
      report.add(`/risks/${element}`, `a tool of this file already says the risk of ${element}`, 'remove one of the two');
  }
  if (content.variant) return;
  const stated = new Set([...used, ...Object.keys(content.risks ?? {})]);
  for (const { name, privilege } of cluster.commands) {
    // What only administrators may do is dangerous without being asked.
    if (privilege === 'administer' || stated.has(name)) continue;
    report.add('/risks', `the risk of the command ${name} is stated nowhere`, `add "${name}": "low", "medium" or "dangerous"`);
  }
}

function named<Item extends { readonly name: string }>(items: readonly Item[], name: string): Item | undefined {
  return items.find((item) => item.name === name);
}

function namesOf(items: readonly { readonly name: string }[]): readonly string[] {
  return items.map((item) => item.name);
}

interface DeviceContext {
  readonly capabilities: ReadonlyMap<string, CapabilityFile>;
  readonly model: StandardClusterModel;
}

/** Mistakes in the meaning of device files: types, capabilities, tools, and two files for one device. */
function checkDevices(files: readonly RawProfileFile[], model: StandardClusterModel): readonly ProfileProblem[] {
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

function checkMatch(report: CheckReport, content: DeviceFile, model: StandardClusterModel): void {
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
