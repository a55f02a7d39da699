import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { invalidInput, toAtmoError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';

/** Longest text of an expression, in characters. */
const MAX_LENGTH = 500;
const MAX_NODES = 200;
const MAX_DEPTH = 16;
const MAX_KEPT = 256;

/** The values that an expression may use. Readings and flags have only those that the expression names. */
export interface ExpressionValues {
  readonly params: JsonObject;
  readonly trigger: JsonObject;
  /** The answers to the questions that the run asked so far, by the name of the answer. */
  readonly answers: JsonObject;
  readonly flags: JsonObject;
  readonly readings: JsonObject;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/** The names by which an expression uses its variables, such as the ids of sensors for `readings`. */
export type ExpressionUses = Readonly<Record<Root, ReadonlySet<string>>>;

const ROOTS = ['params', 'trigger', 'answers', 'flags', 'readings'] as const;
type Root = (typeof ROOTS)[number];

/**
 * Functions that expressions may call. No function repeats work for the members of a list, and none runs a regular expression: so the work
 * of an expression is bounded by its length and by the length of the values.
 */
const FUNCTIONS: ReadonlySet<string> = new Set([
  ...['has', 'size', 'string', 'int', 'double', 'bool', 'timestamp', 'duration', 'dyn'],
  ...['startsWith', 'endsWith', 'contains', 'lowerAscii', 'upperAscii', 'trim'],
  ...['getHours', 'getMinutes', 'getSeconds', 'getDayOfWeek', 'getDayOfMonth', 'getDate', 'getMonth', 'getFullYear', 'getDayOfYear'],
]);

/** The language: the types of the variables, and numbers that mix with whole numbers, since JSON has one type of numbers. */
const language = makeLanguage();
const kept = new Map<string, Expression>();

/** An expression of the Common Expression Language (CEL, cel.dev), which reads values and changes nothing. */
export class Expression {
  readonly text: string;
  readonly uses: ExpressionUses;
  readonly #run: (values: Record<string, unknown>) => unknown;

  private constructor(text: string) {
    const parsed = language.parse(text);
    this.text = text;
    this.uses = usesOf(parsed.ast);
    const checked = parsed.check();
    if (!checked.valid) throw checked.error ?? new TypeError('it has the wrong type');
    this.#run = parsed;
  }

  /** Returns the expression of a text. Throws VALIDATION_ERROR if it is malformed, too long, or uses what expressions may not use. */
  static parse(text: string): Expression {
    const known = kept.get(text);
    if (known) return known;
    if (text.length > MAX_LENGTH) throw invalidInput(`An expression has at most ${MAX_LENGTH} characters; this one has ${text.length}`);
    const expression = parsedOrRefused(() => new Expression(text), text);
    kept.set(text, expression);
    const oldest = kept.keys().next().value;
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
    return expression;
  }

  /** Returns the value of the expression. Throws VALIDATION_ERROR if a value that it needs is unknown or has another type. */
  evaluate({ nowMs, ...values }: ExpressionValues): Json {
    return parsedOrRefused(() => asJson(this.#run({ ...values, now: new Date(nowMs) })), this.text);
  }
}

/** Returns the names by which expressions use a variable. */
export function usesIn(texts: Iterable<string>, root: Root): ReadonlySet<string> {
  return new Set([...texts].flatMap((text) => [...Expression.parse(text).uses[root]]));
}

function makeLanguage(): Environment {
  const environment = new Environment({
    homogeneousAggregateLiterals: false,
    limits: { maxAstNodes: MAX_NODES, maxDepth: MAX_DEPTH, maxListElements: 32, maxMapEntries: 32, maxCallArguments: 4 },
  });
  for (const root of ROOTS) environment.registerVariable(root, 'map<string, dyn>');
  environment.registerVariable('now', 'google.protobuf.Timestamp');
  const operations: Readonly<Record<string, (left: number, right: number) => number>> = {
    '+': (left, right) => left + right,
    '-': (left, right) => left - right,
    '*': (left, right) => left * right,
    '/': (left, right) => left / right,
  };
  for (const [operator, operation] of Object.entries(operations)) {
    const apply = (left: unknown, right: unknown) => operation(Number(left), Number(right));
    environment.registerOperator(`double ${operator} int: double`, apply).registerOperator(`int ${operator} double: double`, apply);
  }
  return environment;
}

function parsedOrRefused<T>(work: () => T, text: string): T {
  try {
    return work();
  } catch (thrown) {
    if (!(thrown instanceof Error)) throw toAtmoError(thrown);
    const [problem = ''] = thrown.message.split('\n');
    throw invalidInput(`The expression ${JSON.stringify(text.slice(0, 80))} cannot be used: ${problem}`);
  }
}

/** Collects what an expression uses. Throws for functions that are not permitted, and for a variable that is not used by a written name. */
function usesOf(ast: ASTNode): ExpressionUses {
  const uses: Record<Root, Set<string>> = {
    params: new Set(),
    trigger: new Set(),
    answers: new Set(),
    flags: new Set(),
    readings: new Set(),
  };
  const visit = (node: ASTNode): void => {
    const use = useOf(node);
    if (use) {
      uses[use.root].add(use.name);
      return;
    }
    requirePermitted(node);
    for (const child of childrenOf(node)) visit(child);
  };
  visit(ast);
  return uses;
}

/** Returns the variable and the name if a node is `trigger.value` or `readings["hall/temperature"]`. */
function useOf({ op, args }: ASTNode): { readonly root: Root; readonly name: string } | undefined {
  if (op !== '.' && op !== '[]') return undefined;
  const [object, member] = args;
  const root = object.op === 'id' ? ROOTS.find((name) => name === object.args) : undefined;
  const name = typeof member === 'string' ? member : member.op === 'value' ? member.args : undefined;
  return root !== undefined && typeof name === 'string' ? { root, name } : undefined;
}

function requirePermitted({ op, args }: ASTNode): void {
  if (op === 'id' && ROOTS.some((root) => root === args)) {
    throw new TypeError(`${String(args)} has to be followed by a written name, such as ${String(args)}.NAME or ${String(args)}["NAME"]`);
  }
  if ((op === 'call' || op === 'rcall') && !FUNCTIONS.has(args[0])) {
    throw new TypeError(`there is no function ${args[0]}; there are ${[...FUNCTIONS].join(', ')}`);
  }
}

function childrenOf({ args }: ASTNode): readonly ASTNode[] {
  return nodesIn(args);
}

function nodesIn(value: unknown): readonly ASTNode[] {
  if (Array.isArray(value)) return value.flatMap(nodesIn);
  return typeof value === 'object' && value !== null && 'op' in value ? [value as ASTNode] : [];
}

/** Returns a value of the language as JSON: whole numbers as numbers, times as ISO 8601 texts. Throws if JSON has no such value. */
function asJson(value: unknown): Json {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError('its value is not a finite number');
  if (value === null || typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean') return value;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(asJson);
  if (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, asJson(item)]));
  }
  throw new TypeError('its value has a type that the hub cannot use');
}
