import type { ClusterDescription } from '../../core/devices/device-model.ts';
import { snake } from '../../core/devices/matter-words.ts';
import type { JsonSchema } from '../../core/json.ts';
import { fieldAt } from '../clusters/cluster-view.ts';
import { chooseConverter } from '../compile/compile-value.ts';
import { enumNames, rawKind } from '../convert/converter.ts';
import type { ChoicesEntry, ValueEntry } from '../files/capability-file.ts';
import type { CheckReport } from './check-report.ts';
import type { StandardModel } from './standard-view.ts';

/** A choice's list has to be there, with the members that it takes id and name from. */
export function checkChoices(
  report: CheckReport,
  pointer: string,
  given: { readonly choices: ChoicesEntry; readonly cluster: ClusterDescription; readonly model: StandardModel },
): void {
  const { choices, model } = given;
  const cluster = choices.cluster === undefined ? given.cluster : model.cluster(choices.cluster);
  if (!cluster) {
    report.unknown(`${pointer}/choices/cluster`, choices.cluster ?? '', model.clusterNames);
    return;
  }
  const list = cluster.attributes.find((attribute) => attribute.name === choices.from);
  if (!list) {
    report.unknown(
      `${pointer}/choices/from`,
      choices.from,
      cluster.attributes.map((attribute) => attribute.name),
    );
    return;
  }
  const items = (list.schema.items ?? {}) as JsonSchema;
  const members = Object.keys((items.properties ?? {}) as object);
  if (choices.id !== undefined && !fieldAt(items, choices.id)) report.unknown(`${pointer}/choices/id`, choices.id, members);
  for (const label of choices.label?.split('|') ?? []) {
    if (!fieldAt(items, label)) report.unknown(`${pointer}/choices/label`, label, members);
  }
}

/** A converter has to fit the kind of value, and a unit must not contradict it. */
export function checkConversion(
  report: CheckReport,
  pointer: string,
  given: { readonly entry: Pick<ValueEntry, 'convert' | 'unit' | 'choices' | 'member' | 'rename'>; readonly schema: JsonSchema },
): void {
  const { entry, schema } = given;
  for (const name of Object.keys(entry.rename ?? {})) {
    const known = enumNames(schema).map(snake);
    if (!known.includes(name)) report.unknown(`${pointer}/rename`, name, known);
  }
  const converter = chooseConverter(entry, schema);
  const kind = rawKind(schema);
  if (!converter.takes.includes(kind)) {
    report.add(
      `${pointer}/convert`,
      `${entry.convert ?? 'the usual converter'} does not fit ${kind} values`,
      `it takes ${converter.takes.join(', ')}`,
    );
  }
  if (converter.unit !== undefined && entry.unit !== undefined) {
    report.add(`${pointer}/unit`, `${entry.convert ?? ''} always gives ${converter.unit}`, 'remove unit');
  }
}
