import { type Argument, type Class, type Expression, parseSync, type Statement, Visitor } from 'oxc-parser';

/** A part of the text that another text replaces. Positions are in UTF-16 code units. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A call `__name(what, "name")`, with which esbuild gives a function or class its name (option `keepNames`). */
interface Naming {
  readonly start: number;
  readonly end: number;
  readonly what: Argument;
  readonly name: string;
}

/**
 * Removes from a bundle the calls with which esbuild names functions that have this name anyway, by their declaration or by what they are
 * assigned to (ECMAScript, NamedEvaluation). They are nine of ten, run whenever a function is created, and cost a tenth of a start. Those stay whose
 * function or class has another name in the bundle, since a name would occur twice there.
 */
export function withoutNeedlessNames(file: string, code: string): string {
  if (!code.includes('__name(')) return code;
  const edits: Edit[] = [];
  const unwrap = (name: string | undefined, value: Expression | null) => edits.push(...unwrapped(name, value));
  new Visitor({
    VariableDeclarator: ({ id, init }) => unwrap(nameOf(id), init),
    AssignmentExpression: ({ operator, left, right }) => operator === '=' && unwrap(nameOf(left), right),
    AssignmentPattern: ({ left, right }) => unwrap(nameOf(left), right),
    Property: ({ key, computed, value }) => !computed && unwrap(nameOf(key), value as Expression),
    PropertyDefinition: ({ key, computed, value }) => !computed && unwrap(nameOf(key), value),
    ClassDeclaration: (node) => edits.push(...selfNamed(node.id?.name, node)),
    ClassExpression: (node) => edits.push(...selfNamed(node.id?.name, node)),
    ExpressionStatement: ({ expression }) => edits.push(...declared(expression)),
    SequenceExpression: ({ expressions }) => edits.push(...expressions.flatMap(declared)),
  }).visit(parseSync(file, code, { sourceType: 'module' }).program);
  return edited(code, edits);
}

/** Unwraps a function without a name of its own that gets the same name from what it is assigned to. */
function unwrapped(name: string | undefined, value: Expression | null): readonly Edit[] {
  if (name === undefined || value === null) return [];
  if (value.type === 'ClassExpression' && !value.id) return selfNamed(name, value);
  const naming = namingOf(value);
  if (naming?.name !== name || !isAnonymous(naming.what)) return [];
  const { what } = naming;
  return [
    { start: naming.start, end: what.start, text: '' },
    { start: what.end, end: naming.end, text: '' },
  ];
}

function isAnonymous(node: Argument): boolean {
  if (node.type === 'ArrowFunctionExpression') return true;
  return (node.type === 'FunctionExpression' || node.type === 'ClassExpression') && !node.id;
}

/** Removes `__name(f, "f")`, which esbuild makes for the declaration of a function `f`. */
function declared(node: Expression): readonly Edit[] {
  const naming = namingOf(node);
  return naming?.what.type === 'Identifier' && naming.what.name === naming.name ? [gone(naming)] : [];
}

/** Removes `__name(this, "C")` from the static blocks of a class `C`. */
function selfNamed(name: string | undefined, { body }: Class): readonly Edit[] {
  const blocks = body.body.flatMap((element): readonly Statement[] => (element.type === 'StaticBlock' ? element.body : []));
  return blocks.flatMap((statement) => {
    const naming = statement.type === 'ExpressionStatement' ? namingOf(statement.expression) : undefined;
    return naming?.what.type === 'ThisExpression' && naming.name === name ? [gone(naming)] : [];
  });
}

function gone({ start, end }: Naming): Edit {
  return { start, end, text: '0' };
}

function namingOf(node: Expression): Naming | undefined {
  if (node.type !== 'CallExpression' || node.callee.type !== 'Identifier' || node.callee.name !== '__name') return undefined;
  const [what, name] = node.arguments;
  if (!what || name?.type !== 'Literal' || typeof name.value !== 'string') return undefined;
  return { start: node.start, end: node.end, what, name: name.value };
}

/** Returns the name that a function gets from what it is assigned to; undefined where it gets none, or where that is not simple. */
function nameOf(node: { readonly type: string }): string | undefined {
  const { type, name, value } = node as { readonly type: string; readonly name?: unknown; readonly value?: unknown };
  const text = type === 'Identifier' ? name : type === 'Literal' ? value : undefined;
  return typeof text === 'string' && text !== '__proto__' ? text : undefined;
}

function edited(code: string, edits: readonly Edit[]): string {
  let text = '';
  let at = 0;
  for (const { start, end, text: replacement } of edits.toSorted((a, b) => a.start - b.start)) {
    text += code.slice(at, start) + replacement;
    at = end;
  }
  return text + code.slice(at);
}
