import { canonicalJson } from '../../codec/canonical-json.ts';
import { blake3Hex } from '../../codec/hashes.ts';
import { isoTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { defineTool, INSTANT, INTEGER, p, resultSchema, TEXT } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';

/** The tool that returns its input. */
const echoTool = defineTool(
  {
    name: 'echo',
    title: 'Echo',
    description: 'Answers exactly what it is given. Use it to see whether calls get through.',
    category: 'computing',
    hasSideEffects: false,
    determinism: 'deterministic',
    parameters: { value: p.json({ description: 'Anything' }) },
  },
  async ({ value }) => value,
);

/** The tool that returns the BLAKE3 hash of a text, or of the canonical JSON (RFC 8785) of another value. */
const hashTool = defineTool(
  {
    name: 'hash',
    title: 'BLAKE3 hash',
    description: 'Computes the BLAKE3 hash of a text (its UTF-8 bytes) or of any other value (its canonical JSON), as 64 hex digits.',
    category: 'computing',
    hasSideEffects: false,
    determinism: 'deterministic',
    parameters: { input: p.json({ description: 'Text, or any JSON value' }) },
    returns: { type: 'string', pattern: '^[0-9a-f]{64}$' },
  },
  async ({ input }) => blake3Hex(typeof input === 'string' ? input : canonicalJson(input)),
);

/** The tool that returns the hub's current time. */
const currentTimeTool = defineTool(
  {
    name: 'current_time',
    title: 'Current time',
    description: "Tells the hub's date and time, in UTC and in a time zone of your choice.",
    category: 'sensing',
    hasSideEffects: false,
    determinism: 'bounded',
    parameters: {
      time_zone: p.string({ description: 'IANA name of the time zone, such as Europe/Berlin', default: 'UTC', maxLength: 64 }),
    },
    returns: resultSchema({ utc: INSTANT, local: TEXT, time_zone: TEXT, unix_ms: INTEGER }),
  },
  async ({ time_zone: timeZone }, { clock }) => {
    const nowMs = clock.now();
    return { utc: isoTime(nowMs), local: localTime(nowMs, timeZone), time_zone: timeZone, unix_ms: nowMs };
  },
);

const OPERATIONS = ['add', 'subtract', 'multiply', 'divide'] as const;
const SIGNS = { add: '+', subtract: '-', multiply: '*', divide: '/' } as const;

/** The tool that adds, subtracts, multiplies or divides two numbers. */
const calculatorTool = defineTool(
  {
    name: 'calculator',
    title: 'Calculator',
    description: 'Adds, subtracts, multiplies or divides two numbers.',
    category: 'computing',
    hasSideEffects: false,
    determinism: 'deterministic',
    parameters: {
      operation: p.enum(OPERATIONS, { description: 'What to do with the two numbers' }),
      operand1: p.number({ description: 'First number' }),
      operand2: p.number({ description: 'Second number' }),
    },
    returns: resultSchema({ result: { type: 'number' }, details: TEXT }),
    examples: [{ description: 'Half of 21', params: { operation: 'divide', operand1: 21, operand2: 2 } }],
  },
  async ({ operation, operand1, operand2 }) => {
    const result = calculate(operation, operand1, operand2);
    return { result, details: `${operand1} ${SIGNS[operation]} ${operand2} = ${result}` };
  },
);

/** Tools that every hub has. */
export const basicTools: readonly RegisteredTool[] = [echoTool, hashTool, currentTimeTool, calculatorTool];

function calculate(operation: (typeof OPERATIONS)[number], a: number, b: number): number {
  if (operation === 'divide' && b === 0)
    throw new AtmoError('VALIDATION_ERROR', 'Cannot divide by zero; operand2 has to be another number');
  const result = { add: a + b, subtract: a - b, multiply: a * b, divide: a / b }[operation];
  if (!Number.isFinite(result)) throw new AtmoError('VALIDATION_ERROR', 'The result is larger than a number can be; use smaller operands');
  return result;
}

function localTime(nowMs: number, timeZone: string): string {
  try {
    return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }).format(nowMs);
  } catch {
    throw new AtmoError('VALIDATION_ERROR', `${JSON.stringify(timeZone)} is not a time zone; use a name such as Europe/Berlin`);
  }
}
