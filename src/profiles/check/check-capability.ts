import type { ClusterDescription } from '../../core/devices/device-model.ts';
import type { JsonSchema } from '../../core/json.ts';
import { rawKind } from '../convert/converter.ts';
import { memberOf } from '../convert/name-converters.ts';
import type { CapabilityFile, ValueEntry } from '../files/capability-file.ts';
import type { RawProfileFile } from '../files/profile-files.ts';
import { elementsOf } from '../files/tool-elements.ts';
import { checkChoices, checkConversion } from './check-conversion.ts';
import { CheckReport } from './check-report.ts';
import { checkTool } from './check-tool.ts';
import type { ProfileProblem } from './profile-problem.ts';
import type { StandardModel } from './standard-view.ts';

/** Mistakes in the meaning of a capability file: does the standard have what it names, and do converters fit? */
export function checkCapability(file: RawProfileFile, content: CapabilityFile, model: StandardModel): readonly ProfileProblem[] {
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
  given: { readonly value: ValueEntry; readonly cluster: ClusterDescription; readonly model: StandardModel },
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
