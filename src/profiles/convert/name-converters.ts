import { snake } from '../../core/devices/matter-words.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { type Choice, type ConversionContext, type Converter, enumNames } from './converter.ts';

/** `EmergencyHeat` ↔ `emergency_heat`; numbers that the model does not name become `value_<n>`. */
export const enumConverter: Converter = {
  takes: ['enum'],
  toHuman: (raw, context) => (typeof raw === 'string' ? wordOf(raw, context) : `value_${String(raw)}`),
  toRaw: (human, context) => {
    const names = enumNames(context.schema);
    const name = names.find((one) => wordOf(one, context) === human) ?? names.find((one) => isFormer(one, context) && snake(one) === human);
    return name ?? noSuchName(human, wordsOf(context));
  },
  schema: (context) => {
    const former = enumNames(context.schema).filter((name) => isFormer(name, context));
    return { type: 'string', enum: wordsOf(context), ...(former.length > 0 && { 'x-also': [{ enum: former.map(snake) }] }) };
  },
};

/** What was called plainly later: callers that know the name of the standard go on using it. */
function isFormer(name: string, context: ConversionContext): boolean {
  return wordOf(name, context) !== snake(name);
}

function wordOf(name: string, { rename = {} }: ConversionContext): string {
  const plainName = snake(name);
  return Object.hasOwn(rename, plainName) ? (rename[plainName] ?? plainName) : plainName;
}

function wordsOf(context: ConversionContext): readonly string[] {
  return enumNames(context.schema).map((name) => wordOf(name, context));
}

/** A device's own names for the values of a number. */
export const choiceConverter: Converter = {
  takes: ['integer', 'octets', 'text'],
  toHuman: (raw, { choices = [] }) => choices.find((choice) => choice.id === raw)?.name ?? `value_${String(raw)}`,
  toRaw: (human, { choices = [] }) => {
    const wanted = typeof human === 'string' ? snake(human) : human;
    const fit = choices.find((choice) => choice.name === wanted);
    return fit === undefined ? choiceByNumber(human, choices) : fit.id;
  },
  schema: ({ choices = [] }) => (choices.length > 0 ? { type: 'string', enum: choices.map((choice) => choice.name) } : { type: 'string' }),
};

/** A list of values by the device's own names for them. */
export const choicesConverter: Converter = {
  takes: ['list'],
  toHuman: (raw, context) => (raw as readonly Json[]).map((one) => choiceConverter.toHuman(one, context)),
  toRaw: (human, context) => (human as readonly Json[]).map((one) => choiceConverter.toRaw(one, context)),
  schema: (context) => ({ type: 'array', uniqueItems: true, maxItems: 255, items: choiceConverter.schema(context) }),
};

/** One flag of a bitmap or one boolean member, as a boolean. */
export const flagConverter: Converter = {
  takes: ['bitmap'],
  toHuman: (raw, context) => memberOf(raw, context.member ?? '') === true,
  toRaw: (human, context) => ({ [schemaMember(context)]: human === true }),
  schema: () => ({ type: 'boolean' }),
};

/** A bitmap as the list of its flags that are set. */
export const flagsConverter: Converter = {
  takes: ['bitmap'],
  toHuman: (raw) => Object.entries(raw as JsonObject).flatMap(([name, isSet]) => (isSet === true ? [snake(name)] : [])),
  toRaw: (human, context) => {
    const names = human as readonly string[];
    return Object.fromEntries(flagNames(context).map((flag) => [flag, names.includes(snake(flag))]));
  },
  schema: (context) => ({ type: 'array', uniqueItems: true, items: { type: 'string', enum: flagNames(context).map(snake) } }),
};

/** A member of a struct or bitmap by its name in any spelling; undefined when it is absent. */
export function memberOf(value: Json, name: string): Json | undefined {
  if (!isJsonObject(value)) return undefined;
  const wanted = name.toLowerCase();
  return Object.entries(value).find(([key]) => key.toLowerCase() === wanted)?.[1];
}

function choiceByNumber(human: Json, choices: readonly Choice[]): Json {
  // Devices that list no names can still be told the number: `value_3`.
  const number = /^value_(\d+)$/.exec(String(human))?.[1];
  if (number !== undefined && choices.length === 0) return Number(number);
  return noSuchName(
    human,
    choices.map((choice) => choice.name),
  );
}

function noSuchName(human: Json, names: readonly string[]): never {
  const known = names.length > 0 ? `one of ${names.join(', ')}` : 'a name that the device lists, or value_<number>';
  throw new AtmoError('VALIDATION_ERROR', `${JSON.stringify(human)} is not possible here; give ${known}`, { allowed: names });
}

function flagNames(context: ConversionContext): readonly string[] {
  const members = (context.schema.properties ?? {}) as Record<string, { type?: unknown }>;
  return Object.entries(members).flatMap(([name, member]) => (member.type === 'boolean' ? [name] : []));
}

function schemaMember(context: ConversionContext): string {
  const wanted = (context.member ?? '').toLowerCase();
  return flagNames(context).find((name) => name.toLowerCase() === wanted) ?? context.member ?? '';
}
