import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { parseSync, Visitor } from 'oxc-parser';

/** Largest number of branches that are counted; later ones share a counter with earlier ones. */
const MAX_EDGES = 65_536;
/** Packages whose code decides about bytes that others sent. The others are left as they are, since counting makes them slower. */
const COUNTED_PACKAGES =
  /\/node_modules\/(?:cbor-x|dns-packet|@marcbachmann\/cel-js|croner|yaml|htmlparser2|css-select|css-what|semver|@leichtgewicht\/ip-codec)\//;
const SOURCES = new URL('../../src/', import.meta.url).href;
const GLOBAL_NAME = '__branchCounts';
const LONGEST_LITERAL = 32;

/** How often each branch ran since the counts were last set to 0. */
export const branchCounts = new Uint8Array(MAX_EDGES);
/** The texts that the code of a module names, by the URL of the module: words that its parser may know. */
export const literalsOf = new Map<string, readonly string[]>();

let edges = 0;

/** The number of branches in the code that was loaded so far. */
export const edgesLoaded = (): number => edges;

/** A text that is inserted into code, at a position in UTF-16 code units. */
interface Insertion {
  readonly at: number;
  readonly text: string;
}

/** Has every module that is loaded from now on count its branches: those of this program, and those of packages that parse. */
export function countBranches(): void {
  Reflect.set(globalThis, GLOBAL_NAME, branchCounts);
  registerHooks({
    load: (url, context, next) => {
      if (!url.startsWith(SOURCES) && !COUNTED_PACKAGES.test(url)) return next(url, context);
      const { format } = next(url, context);
      const file = fileURLToPath(url);
      const { code, literals } = counted(file, readFileSync(file, 'utf8'));
      literalsOf.set(url, literals);
      return { format, source: code, shortCircuit: true };
    },
  });
}

/** Returns the code with a counter at the beginning of each branch, and its texts. Lines keep their numbers. */
export function counted(file: string, code: string): { readonly code: string; readonly literals: readonly string[] } {
  const starts: Insertion[] = [];
  const ends: Insertion[] = [];
  const literals = new Set<string>();
  const wrap = (node: { start: number; end: number }, before: string, after: string) => {
    starts.push({ at: node.start, text: before });
    ends.unshift({ at: node.end, text: after });
  };
  const expression = (node: { start: number; end: number }) => wrap(node, `(${counter()},`, ')');
  const statement = (node: Branch | null) => {
    if (node?.type === 'BlockStatement') starts.push({ at: afterDirectives(node), text: `${counter()};` });
    else if (node) wrap(node, `{${counter()};`, '}');
  };
  const loop = ({ body }: { readonly body: Branch }) => statement(body);
  const called = ({ body }: { readonly body: Branch | null }) => {
    if (body?.type === 'BlockStatement') statement(body);
    else if (body?.type === 'FunctionBody') starts.push({ at: afterDirectives(body), text: `${counter()};` });
  };
  new Visitor({
    FunctionDeclaration: called,
    FunctionExpression: called,
    ArrowFunctionExpression: (node) => (node.body.type === 'BlockStatement' ? called(node) : expression(node.body)),
    IfStatement: ({ consequent, alternate }) => {
      statement(consequent);
      statement(alternate);
    },
    ConditionalExpression: ({ consequent, alternate }) => {
      expression(consequent);
      expression(alternate);
    },
    LogicalExpression: ({ right }) => expression(right),
    SwitchCase: ({ consequent: [first] }) => first && starts.push({ at: first.start, text: `${counter()};` }),
    ForStatement: loop,
    ForInStatement: loop,
    ForOfStatement: loop,
    WhileStatement: loop,
    DoWhileStatement: loop,
    CatchClause: loop,
    Literal: ({ value }) => {
      if (typeof value === 'string' && isWord(value)) literals.add(value);
    },
  }).visit(parseSync(file, code, {}).program);
  return { code: inserted(code, starts, ends), literals: [...literals] };
}

interface Branch {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly body?: unknown;
}

const counter = (): string => `${GLOBAL_NAME}[${edges++ % MAX_EDGES}]++`;

const isWord = (text: string): boolean =>
  text.length > 1 && text.length <= LONGEST_LITERAL && !text.includes(' ') && !text.startsWith('.') && !text.startsWith('node:');

/** The position after the brace of a block and after `'use strict'`, which has to stay first. */
function afterDirectives({ start, body }: Branch): number {
  const statements = (Array.isArray(body) ? body : []) as readonly { readonly end: number; readonly directive?: unknown }[];
  return statements.findLast(({ directive }) => typeof directive === 'string')?.end ?? start + 1;
}

/** At one position, outer parts begin before inner ones, and inner ones end before outer ones. */
function inserted(code: string, starts: readonly Insertion[], ends: readonly Insertion[]): string {
  let text = '';
  let at = 0;
  for (const insertion of [...ends, ...starts].toSorted((a, b) => a.at - b.at)) {
    text += code.slice(at, insertion.at) + insertion.text;
    at = insertion.at;
  }
  return text + code.slice(at);
}
