import { AtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';

const PLACEHOLDER = /\{(\w+)\}/g;

/** Names of the parameters that these arguments are filled from. */
export function argumentParameters(args: readonly string[]): readonly string[] {
  return args.flatMap((arg) => [...arg.matchAll(PLACEHOLDER)].map(([, name = '']) => name));
}

/** What stands before, between and behind the parameters of an argument. */
export function fixedTexts(arg: string): readonly string[] {
  return arg.split(PLACEHOLDER).filter((_, index) => index % 2 === 0);
}

/**
 * Arguments with the call's parameters in the place of `{param}` (source 003). An argument stays one argument and is filled in one
 * pass; values that are no text become JSON. It is left out when a parameter of it was left out. VALIDATION_ERROR for a value that
 * the program would take for an option, and for one that no argument can hold.
 */
export function fillArguments(args: readonly string[], params: JsonObject): readonly string[] {
  const end = args.indexOf('--');
  return args.flatMap((arg, index) => {
    const names = argumentParameters([arg]);
    if (names.some((name) => params[name] === undefined)) return [];
    const filled = arg.replace(PLACEHOLDER, (_, name: string) => argumentText(name, params[name] ?? null));
    const isAfterOptions = end !== -1 && end < index;
    if (names.length > 0 && !arg.startsWith('-') && filled.startsWith('-') && !isAfterOptions) requireNumber(filled, names);
    return [filled];
  });
}

/** A text is itself, everything else its JSON. */
export function argumentText(name: string, value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (!text.includes('\0')) return text;
  throw wrong(name, 'holds a NUL character, which no program can be given');
}

/** `-5` is a number to every program; `-rf` is an option to most. */
function requireNumber(text: string, [name = '']: readonly string[]): void {
  if (/^-\d+(\.\d+)?$/.test(text)) return;
  throw wrong(name, 'begins with "-", which the program would take for an option; whoever made the tool can put "--" before it');
}

function wrong(name: string, problem: string): AtmoError {
  return new AtmoError('VALIDATION_ERROR', `/${name} ${problem}`, { pointer: `/${name}` });
}
