import { isJsonObject, type Json, type JsonObject, objectsOf, pointerTo, textsOf, valueAt } from '../../core/json.ts';
import { type FieldPath, type FormField, type NamedOption, withValueAt } from '../components/schema-fields.ts';
import { isShown, itemField } from '../components/shown-values.ts';
import { type FormHome, limitFields } from './automation-fields.ts';
import { answerExpression, kindOf, type ListName, type PartKind } from './automation-parts.ts';

/** A trigger, a condition or a step with its place in the configuration. */
export interface PlacedPart {
  readonly path: FieldPath;
  readonly part: Json;
}

/** Returns the parts of a list. A single trigger need not stand in a list. */
export function partsAt(config: JsonObject, path: FieldPath): readonly PlacedPart[] {
  const value = at(config, path);
  if (Array.isArray(value)) return value.map((part: Json, index) => ({ path: [...path, index], part }));
  return value === undefined ? [] : [{ path, part: value }];
}

/** A condition, and whether it has to hold or not. */
interface PlacedCondition extends PlacedPart {
  readonly isNegated: boolean;
}

/** Returns the condition that the form shows for a part: that within a `not`, if it stands there alone. */
export function conditionIn({ path, part }: PlacedPart): PlacedCondition {
  const [inner, ...others] = isJsonObject(part) && part.type === 'not' ? objectsOf(part.conditions) : [];
  if (!inner || others.length > 0 || inner.type === 'not') return { path, part, isNegated: false };
  return { path: [...path, 'conditions', 0], part: inner, isNegated: true };
}

/** Returns the path of the first thing that the form cannot show; undefined if it shows the whole automation. */
export function hiddenPart(config: JsonObject, home: FormHome): FieldPath | undefined {
  return firstDifference(config, shownDefinition(config, home));
}

/** Returns the configuration that consists of what the form shows. It is equal to `config` exactly if the form shows all of it. */
export function shownDefinition(config: JsonObject, home: FormHome): JsonObject {
  const lists = (['trigger', 'conditions', 'actions'] as const).flatMap((list) =>
    list in config ? [[list, shownList(config[list], list, home)] as const] : [],
  );
  return { ...Object.fromEntries(lists), ...shownMembers(config, limitFields()) };
}

function shownList(value: Json | undefined, list: ListName, home: FormHome): Json {
  if (Array.isArray(value)) return value.map((part: Json) => shownPart(part, list, home));
  return list === 'trigger' ? shownPart(value, list, home) : null;
}

function shownPart(part: Json | undefined, list: ListName, home: FormHome): Json {
  const { part: inner, isNegated } = list === 'conditions' ? conditionIn({ path: [], part: part ?? null }) : { part, isNegated: false };
  const shown = shownInner(inner, list, home);
  return isNegated ? { type: 'not', conditions: [shown] } : shown;
}

function shownInner(part: Json | undefined, list: ListName, home: FormHome): Json {
  const kind = kindOf(part, list);
  if (!kind || !isJsonObject(part)) return null;
  const fixed = Object.fromEntries(kind.fixed.flatMap((name) => (part[name] === undefined ? [] : [[name, part[name]]])));
  const shown: Json = { ...fixed, ...shownMembers(part, kind.fields({ path: [], part, home })) };
  return (kind.lists?.(part) ?? []).reduce<Json>((whole, { path, of }) => {
    const value = at(part, path);
    return value === undefined ? whole : (withValueAt(whole, path, shownList(value, of, home)) ?? null);
  }, shown);
}

function shownMembers(part: JsonObject, fields: readonly FormField[]): JsonObject {
  const shown = fields.flatMap((field): readonly (readonly [string, Json])[] => {
    const name = String(field.path.at(-1));
    const value = part[name];
    return value === undefined || !isShown(field, value) ? [] : [[name, value]];
  });
  return Object.fromEntries(shown);
}

function firstDifference(value: Json | undefined, other: Json | undefined, path: FieldPath = []): FieldPath | undefined {
  if (Array.isArray(value) && Array.isArray(other) && value.length === other.length) {
    return firstOf(value.map((item: Json, index) => firstDifference(item, other[index], [...path, index])));
  }
  if (isJsonObject(value) && isJsonObject(other)) {
    const names = [...new Set([...Object.keys(value), ...Object.keys(other)])];
    return firstOf(names.map((name) => firstDifference(value[name], other[name], [...path, name])));
  }
  return value === other ? undefined : path;
}

function firstOf(paths: readonly (FieldPath | undefined)[]): FieldPath | undefined {
  return paths.find((path) => path !== undefined);
}

/** Returns the answers to all questions of an automation, as conditions can name them. */
export function answersOf(config: JsonObject, title: (name: string, answer: string) => string): readonly NamedOption[] {
  return stepsIn(config.actions)
    .filter(({ type }) => type === 'ask')
    .flatMap(({ name, answers }) => {
      const given = Array.isArray(answers) ? textsOf(answers) : ['yes', 'no'];
      return given.map((answer) => ({ value: answerExpression(String(name), answer), title: title(String(name), answer) }));
    });
}

/** Returns the names of the tools that an automation calls. */
export function toolsOf(config: JsonObject): readonly string[] {
  return [...new Set(stepsIn(config.actions).flatMap(({ tool }) => (typeof tool === 'string' && tool !== '' ? [tool] : [])))];
}

function stepsIn(value: Json | undefined): readonly JsonObject[] {
  return objectsOf(value).flatMap((step) => {
    const inner = kindOf(step, 'actions')?.lists?.(step) ?? [];
    return [step, ...inner.flatMap(({ path, of }) => (of === 'actions' ? stepsIn(at(step, path)) : []))];
  });
}

/** Returns the configuration with another part at the end of a list. */
export function withPart(config: JsonObject, list: FieldPath, part: Json): JsonObject {
  const present = partsAt(config, list).map((one) => one.part);
  return withValue(config, list, [...present, part]);
}

/** Returns the configuration with a value at a path, or without it. */
export function withValue(config: JsonObject, path: FieldPath, next: Json | undefined): JsonObject {
  const changed = withValueAt(config, path, next);
  return isJsonObject(changed) ? changed : {};
}

/** Returns the configuration with a step before the one that stands before it now. */
export function withStepEarlier(config: JsonObject, path: FieldPath): JsonObject {
  const list = path.slice(0, -1);
  const index = Number(path.at(-1));
  const present = partsAt(config, list).map(({ part }) => part);
  return withValue(config, list, present.toSpliced(index, 1).toSpliced(index - 1, 0, present[index] ?? null));
}

/** A list of parts, in the home that the form knows. */
interface PartList {
  readonly list: ListName;
  readonly home: FormHome;
}

/** Returns a new part of a kind with what the part before says and the new kind has the same field for, such as the sensor or the person. */
export function partOfKind({ start, fields }: PartKind, before: Json, { list, home }: PartList): JsonObject {
  const former = isJsonObject(before) ? (kindOf(before, list)?.fields({ path: [], part: before, home }) ?? []) : [];
  const kept = fields({ path: [], part: start, home }).flatMap((field): readonly (readonly [string, Json])[] => {
    const name = String(field.path.at(-1));
    const value = isJsonObject(before) ? before[name] : undefined;
    if (value === undefined || value === null) return [];
    return former.some((one) => one.path.at(-1) === name && meansSame(value, one, field)) ? [[name, value]] : [];
  });
  return { ...start, ...Object.fromEntries(kept) };
}

/** Returns whether a value means the same in another field. A thing that is gone is an option of neither. */
function meansSame(value: Json, field: FormField, other: FormField): boolean {
  return field.kind === other.kind && isShown(other, value) && isOptionOf(field, value) === isOptionOf(other, value);
}

function isOptionOf(field: FormField, value: Json): boolean {
  return field.kind === 'named' && field.options.some((option) => option.value === value);
}

/** Returns the number of parts within a part, such as the steps of a choice. */
export function innerPartCount(part: Json, list: ListName): number {
  if (!isJsonObject(part)) return 0;
  const lists = kindOf(part, list)?.lists?.(part) ?? [];
  return lists.reduce((sum, { path }) => sum + partsAt(part, path).length, 0);
}

/** Returns a condition that has to hold, or one that must not. */
export function negated(condition: Json, isNegated: boolean): Json {
  return isNegated ? { type: 'not', conditions: [condition] } : condition;
}

/** Returns a new question, whose answer has a name of its own. */
export function withFreeName(part: JsonObject, config: JsonObject): JsonObject {
  if (part.type !== 'ask') return part;
  const taken = new Set(stepsIn(config.actions).map(({ name }) => name));
  const names = ['answer', ...Array.from({ length: 16 }, (_, index) => `answer_${index + 2}`)];
  return { ...part, name: names.find((name) => !taken.has(name)) ?? 'answer' };
}

/** Returns the JSON Pointers (RFC 6901) of everything at which the form can show a mistake. */
export function knownPointers(config: JsonObject, home: FormHome): ReadonlySet<string> {
  const top = (['trigger', 'conditions', 'actions'] as const).flatMap((list) => listPointers(config, [list], list, home));
  return new Set(['', ...top, ...fieldPointers(limitFields(), config)]);
}

function listPointers(config: JsonObject, path: FieldPath, list: ListName, home: FormHome): readonly string[] {
  return [pointerTo(path), ...partsAt(config, path).flatMap((placed) => partPointers(config, placed, { list, home }))];
}

function partPointers(config: JsonObject, placed: PlacedPart, { list, home }: PartList): readonly string[] {
  const { path, part } = list === 'conditions' ? conditionIn(placed) : placed;
  const kind = kindOf(part, list);
  if (!kind || !isJsonObject(part)) return [pointerTo(placed.path)];
  const inner = (kind.lists?.(part) ?? []).flatMap((one) => listPointers(config, [...path, ...one.path], one.of, home));
  return [pointerTo(placed.path), ...fieldPointers(kind.fields({ path, part, home }), config), ...inner];
}

function fieldPointers(fields: readonly FormField[], config: JsonObject): readonly string[] {
  return fields.flatMap((field) => {
    const own = pointerTo(field.path);
    if (field.kind === 'group') return [own, ...fieldPointers(field.fields, config)];
    const items = at(config, field.path);
    if (field.kind !== 'list' || !Array.isArray(items)) return [own];
    const itemFields = items.map((_item, index) => itemField(field, index));
    return [own, ...fieldPointers(itemFields, config)];
  });
}

/** Returns the pointer of the place nearest to a mistake at which the form can show it. */
export function nearestPointer(pointer: string, known: ReadonlySet<string>): string {
  let place = pointer;
  while (!known.has(place)) place = place.slice(0, Math.max(0, place.lastIndexOf('/')));
  return place;
}

function at(value: Json, path: FieldPath): Json | undefined {
  return valueAt(value, path.map(String));
}
