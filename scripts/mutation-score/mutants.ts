import { createHash } from 'node:crypto';
import { type Node, parseSync } from 'oxc-parser';
import { type Change, changesOf } from './operators.ts';

/** One small mistake in one file: the text at a place, and what stands there instead. */
export interface Mutant {
  /** The same while the text, its replacement and what stands before it in the file with the same text stay the same. */
  readonly id: string;
  readonly file: string;
  readonly line: number;
  readonly kind: Change['kind'];
  /** Positions in UTF-16 code units. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly instead: string;
}

/** What stands in a node without being code that runs: names of modules and members, and texts that tags read raw. */
const NOT_RUN: Readonly<Record<string, readonly string[]>> = {
  ImportDeclaration: ['specifiers', 'source', 'attributes'],
  ExportAllDeclaration: ['source', 'attributes', 'exported'],
  ExportNamedDeclaration: ['source', 'attributes', 'specifiers'],
  ImportExpression: ['source'],
  TaggedTemplateExpression: ['quasi'],
};
const KEYED: ReadonlySet<string> = new Set(['Property', 'PropertyDefinition', 'MethodDefinition', 'AccessorProperty']);
/** Nodes of TypeScript that hold an expression that runs; all others are gone when the program runs. */
const TYPED: ReadonlySet<string> = new Set(['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression', 'TSTypeAssertion']);
/** Members by which a part of a chain holds the part before it. */
const CHAINED: ReadonlySet<string> = new Set(['expression', 'object', 'callee']);

/** Returns all mutants of a source, in the order of their places. */
export function mutantsOf(file: string, source: string): readonly Mutant[] {
  const { program, errors } = parseSync(file, source, { sourceType: 'module' });
  if (errors.length > 0) throw new Error(`${file} does not parse: ${errors[0]?.message}`);
  const changes = new Map<string, Change>();
  for (const change of changesBelow(program, source)) {
    if (change.instead !== source.slice(change.start, change.end)) changes.set(`${change.start} ${change.end} ${change.instead}`, change);
  }
  const counts = new Map<string, number>();
  return [...changes.values()].map((change) => {
    const text = source.slice(change.start, change.end);
    const kind = JSON.stringify([file, text, change.instead]);
    const count = counts.get(kind) ?? 0;
    counts.set(kind, count + 1);
    const line = source.slice(0, change.start).split('\n').length;
    return { id: idOf(`${kind} ${count}`), file, line, text, ...change };
  });
}

/** Returns as many mutants as wanted: which ones, and in which order, follows from the seed. A mutant keeps its place when others come or go. */
export function sampleOf(mutants: readonly Mutant[], size: number, seed: number): readonly Mutant[] {
  const drawn = mutants.map((mutant) => ({ mutant, rank: idOf(`${seed} ${mutant.id}`) }));
  drawn.sort((a, b) => (a.rank < b.rank ? -1 : 1));
  return drawn.slice(0, size).map(({ mutant }) => mutant);
}

function idOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** The changes at a node and below it. Those of parts of an optional chain replace the `chain`, as a part cannot stand in brackets. */
function* changesBelow(node: Node, source: string, chain?: Node): Generator<Change> {
  if (node.type.startsWith('TS') && !TYPED.has(node.type)) return;
  for (const change of changesOf(node, source)) yield chain ? widened(change, chain, source) : change;
  const whole = node.type === 'ChainExpression' ? node : chain;
  for (const [member, child] of childrenOf(node)) yield* changesBelow(child, source, CHAINED.has(member) ? whole : undefined);
}

function widened({ kind, start, end, instead }: Change, chain: Node, source: string): Change {
  const text = source.slice(chain.start, start) + instead + source.slice(end, chain.end);
  return { kind, start: chain.start, end: chain.end, instead: text };
}

function childrenOf(node: Node): readonly (readonly [member: string, child: Node])[] {
  const left = NOT_RUN[node.type] ?? [];
  return Object.entries(node).flatMap(([member, value]: [string, unknown]) => {
    if (left.includes(member) || (member === 'key' && isNamed(node))) return [];
    return (Array.isArray(value) ? value : [value]).filter(isNode).map((child) => [member, child] as const);
  });
}

function isNamed(node: Node): boolean {
  return KEYED.has(node.type) && !('computed' in node && node.computed);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}
