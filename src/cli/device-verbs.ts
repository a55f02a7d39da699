import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';
import { type Command, type Invocation, type OperandSpec, type OptionSpec, usage } from './command.ts';
import type { Printable } from './terminal/page.ts';
import { textPairs, textTable } from './terminal/text-table.ts';

/** A verb that is one call of an administration tool of the hub. */
export interface ToolVerb {
  readonly name: string;
  readonly summary: string;
  /** The tool that does it. */
  readonly tool: string;
  readonly operands?: readonly OperandSpec[];
  readonly options?: Readonly<Record<string, OptionSpec>>;
  readonly examples?: readonly string[];
  /** The tool's parameters from the command line. */
  params(call: Invocation): JsonObject | Promise<JsonObject>;
  /** Members to show in a table when the result is a list. */
  readonly columns?: readonly string[];
  /** The members as people read them, instead of those of the result. */
  shown?(result: JsonObject): JsonObject;
  /** What people are told instead of the members of the result. */
  sentence?(result: JsonObject, call: Invocation): string;
}

/** The command of a verb: thin, since checks, permissions and answers are the tool's. */
export function commandOf(verb: ToolVerb): Command {
  const { name, summary, operands, options, examples } = verb;
  return {
    name,
    summary,
    ...(operands && { operands }),
    ...(options && { options }),
    ...(examples && { examples }),
    async run(call) {
      const params = await verb.params(call);
      const result = await call.output.during(`atmo ${name}`, () => call.hub.call(verb.tool, params));
      call.output.answer(result, () =>
        verb.sentence && isJsonObject(result)
          ? `${verb.sentence(result, call)}\n`
          : humanText(verb.shown && isJsonObject(result) ? verb.shown(result) : result, verb),
      );
      return undefined;
    },
  };
}

function humanText(result: Json, { columns }: ToolVerb): Printable {
  if (isJsonObject(result))
    return textPairs(Object.fromEntries(Object.entries(result).map(([name, value]) => [name, endpointsInShort(value)])));
  const items = Array.isArray(result) ? result.filter(isJsonObject) : [];
  const shown = columns ?? [...new Set(items.flatMap((item) => Object.keys(item)))];
  const rows = items.map((item) => shown.map((column) => endpointsInShort(item[column])));
  return textTable(
    shown.map((column) => column.toUpperCase()),
    rows,
  );
}

/** A list of endpoints the way people type them, `lamp/1, blind/2`; anything else as it is. */
function endpointsInShort(value: Json | undefined): Json | undefined {
  const texts = endpointTexts(value);
  return Array.isArray(value) && texts.length === value.length ? texts : value;
}

/** The endpoints of a list the way people type them. */
export function endpointTexts(value: Json | undefined): readonly string[] {
  const items = Array.isArray(value) ? value.filter(isJsonObject) : [];
  return items.flatMap(({ device, endpoint }) => (typeof device === 'string' && endpoint !== undefined ? `${device}/${endpoint}` : []));
}

/** The whole number at an operand, whose name the mistake tells. */
export function integerOperand(call: Invocation, index: number, name: string): number {
  const text = call.operand(index);
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw usage(`${name} has to be a whole number, not ${JSON.stringify(text)}`);
}

/** `DEVICE` or `DEVICE/ENDPOINT`; endpoint 1 unless it is said. */
export function endpointOf(text: string): { device_id: string; endpoint: number } {
  const match = /^([^/]+)(?:\/(\d{1,5}))?$/.exec(text);
  if (match?.[1] === undefined) throw usage(`${JSON.stringify(text)} has to be DEVICE or DEVICE/PART`);
  return { device_id: match[1], endpoint: Number(match[2] ?? '1') };
}
