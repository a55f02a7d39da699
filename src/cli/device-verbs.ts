import type { JsonObject } from '../core/json.ts';
import { type Command, type Invocation, type OperandSpec, type OptionSpec, usage } from './command.ts';
import { objectsIn } from './json-list.ts';
import { textPairs, textTable } from './text-table.ts';

/** A verb that is one call of an administration tool of the hub. */
export interface ToolVerb {
  readonly name: string;
  readonly summary: string;
  /** The tool that does it. */
  readonly tool: string;
  readonly operands?: readonly OperandSpec[];
  readonly options?: Readonly<Record<string, OptionSpec>>;
  /** The tool's parameters from the command line. */
  params(call: Invocation): JsonObject;
  /** Heading of the table when the result is a list: its member and the columns. */
  readonly table?: { readonly member: string; readonly columns: readonly string[] };
}

/** The command of a verb: thin, since checks, permissions and answers are the tool's. */
export function commandOf(verb: ToolVerb): Command {
  const { name, summary, operands, options } = verb;
  return {
    name,
    summary,
    ...(operands && { operands }),
    ...(options && { options }),
    async run(call) {
      const result = await call.hub.call(verb.tool, verb.params(call));
      call.output.answer(result, () => humanText(result, verb));
      return undefined;
    },
  };
}

function humanText(result: JsonObject, { table }: ToolVerb): string {
  if (!table) return textPairs(result) || 'done\n';
  const rows = objectsIn(result, table.member).map((item) => table.columns.map((column) => item[column]));
  return textTable(
    table.columns.map((column) => column.toUpperCase()),
    rows,
  );
}

/** The whole number at an operand. */
export function integerOperand(call: Invocation, index: number): number {
  const text = call.operand(index);
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw usage(`${JSON.stringify(text)} has to be a whole number`);
}

/** `DEVICE` or `DEVICE/ENDPOINT`; endpoint 1 unless it is said. */
export function endpointOf(text: string): { readonly device: string; readonly endpoint: number } {
  const match = /^([^/]+)(?:\/(\d{1,5}))?$/.exec(text);
  if (match?.[1] === undefined) throw usage(`${JSON.stringify(text)} has to be DEVICE or DEVICE/ENDPOINT`);
  return { device: match[1], endpoint: Number(match[2] ?? '1') };
}
