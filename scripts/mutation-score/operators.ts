import type {
  BinaryExpression,
  BlockStatement,
  CallExpression,
  ChainExpression,
  Expression,
  ExpressionStatement,
  Node,
  Statement,
} from 'oxc-parser';

/** A text in a source, by its positions in UTF-16 code units, and what stands there instead. */
export interface Change {
  readonly kind: 'expression' | 'statement' | 'block';
  readonly start: number;
  readonly end: number;
  readonly instead: string;
}

type Place = Pick<Change, 'start' | 'end'>;

const BINARY: Readonly<Record<string, readonly string[]>> = {
  '===': ['!=='],
  '!==': ['==='],
  '==': ['!='],
  '!=': ['=='],
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '**': ['*'],
  '<<': ['>>'],
  '>>': ['<<'],
  '>>>': ['<<'],
  '&': ['|'],
  '|': ['&'],
  '^': ['&'],
};
const COMPARISONS: ReadonlySet<string> = new Set(['===', '!==', '==', '!=', '<', '<=', '>', '>=', 'in', 'instanceof']);
const LOGICAL: Readonly<Record<string, string>> = { '&&': '||', '||': '&&', '??': '&&' };
const ASSIGNMENT: Readonly<Record<string, string>> = {
  '+=': '-=',
  '-=': '+=',
  '*=': '/=',
  '/=': '*=',
  '<<=': '>>=',
  '>>=': '<<=',
  '>>>=': '<<=',
  '&=': '|=',
  '|=': '&=',
  '^=': '&=',
  '&&=': '||=',
  '||=': '&&=',
  '??=': '&&=',
};
const METHODS: ReadonlyMap<string, string> = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['startsWith', 'endsWith'],
  ['endsWith', 'startsWith'],
  ['toLowerCase', 'toUpperCase'],
  ['toUpperCase', 'toLowerCase'],
  ['min', 'max'],
  ['max', 'min'],
]);
/** Methods whose result is of the kind of what they are called on. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'filter',
  'slice',
  'sort',
  'toSorted',
  'reverse',
  'toReversed',
  'trim',
  'concat',
  'flat',
  'subarray',
]);
/** From here on a number is a size or a time, of which the next one would be no mistake that matters. */
const SMALL = 10;
const SIMPLE: ReadonlySet<string> = new Set([
  'Identifier',
  'Literal',
  'MemberExpression',
  'CallExpression',
  'ThisExpression',
  'ParenthesizedExpression',
]);
const PLAIN_RESULTS: ReadonlySet<string> = new Set(['Literal', 'BlockStatement', 'TemplateLiteral']);

/** Returns the mistakes that somebody could make at this node, without those at the nodes below it. */
export function changesOf(node: Node, source: string): readonly Change[] {
  const text = (place: Place) => source.slice(place.start, place.end);
  const as = (instead: string): readonly Change[] => [constant(node, instead)];
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression':
      return [constant(node.test, 'true'), constant(node.test, 'false')];
    case 'WhileStatement':
    case 'DoWhileStatement':
      return [constant(node.test, 'false')];
    case 'ForStatement':
      return node.test ? [constant(node.test, 'false')] : [];
    case 'BinaryExpression':
      return 'operator' in node && node.left.type !== 'PrivateIdentifier' ? ofBinary(node as BinaryExpression, text) : [];
    case 'LogicalExpression':
      return as(`${operand(node.left, text)} ${LOGICAL[node.operator]} ${operand(node.right, text)}`);
    case 'UnaryExpression':
      return ['!', '-', '~'].includes(node.operator) ? as(text(node.argument)) : [];
    case 'UpdateExpression':
      return as(text(node).replace(node.operator, node.operator === '++' ? '--' : '++'));
    case 'AssignmentExpression': {
      const operator = isText(node.right) ? undefined : ASSIGNMENT[node.operator];
      return operator === undefined ? [] : as(`${text(node.left)} ${operator} ${text(node.right)}`);
    }
    case 'Literal':
      return ofLiteral(node.value).flatMap(as);
    case 'TemplateLiteral':
      return as('``');
    case 'ArrayExpression':
      return node.elements.length > 0 ? as('[]') : [];
    case 'ObjectExpression':
      return node.properties.length > 0 ? as('{}') : [];
    case 'ArrowFunctionExpression':
      return PLAIN_RESULTS.has(node.body.type) ? [] : [constant(node.body, 'undefined')];
    case 'ReturnStatement':
      return !node.argument || PLAIN_RESULTS.has(node.argument.type) ? [] : [constant(node.argument, 'undefined')];
    case 'AwaitExpression':
      return as(text(node.argument));
    case 'ChainExpression':
      return ofChain(node, source);
    case 'CallExpression':
      return ofCall(node, source);
    case 'ThrowStatement':
      return [removed(node)];
    case 'ExpressionStatement':
      return isEffect(node) ? [removed(node)] : [];
    case 'BlockStatement':
      return isMoreThanItsStatement(node) ? [{ ...constant(node, '{}'), kind: 'block' }] : [];
    default:
      return [];
  }
}

function constant({ start, end }: Place, instead: string): Change {
  return { kind: 'expression', start, end, instead };
}

function removed({ start, end }: Place): Change {
  return { kind: 'statement', start, end, instead: ';' };
}

function ofBinary(node: BinaryExpression, text: (place: Place) => string): readonly Change[] {
  if (node.operator === '+' && (isText(node.left) || isText(node.right))) return [];
  const operators = BINARY[node.operator] ?? [];
  const turned = operators.map((operator) => `${operand(node.left, text)} ${operator} ${operand(node.right, text)}`);
  const constants = COMPARISONS.has(node.operator) ? ['true', 'false'] : [];
  return [...turned, ...constants].map((instead) => constant(node, instead));
}

/** In brackets where another operator could bind its parts otherwise. */
function operand(node: Node, text: (place: Place) => string): string {
  return SIMPLE.has(node.type) ? text(node) : `(${text(node)})`;
}

function isText(node: Node): boolean {
  if (node.type === 'BinaryExpression' && node.operator === '+') return isText(node.left) || isText(node.right);
  return node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string');
}

function ofLiteral(value: unknown): readonly string[] {
  if (typeof value === 'boolean') return [String(!value)];
  if (typeof value === 'number') return [String(value < SMALL ? value + 1 : value * 2)];
  if (typeof value === 'bigint') return [`${value + 1n}n`];
  if (typeof value === 'string') return [value === '' ? "'mutated'" : "''"];
  return [];
}

/** The chain with each of its `?.` made a `.`, one at a time. */
function ofChain({ start, end, expression }: ChainExpression, source: string): readonly Change[] {
  const changes: Change[] = [];
  let node: Expression | ChainExpression['expression'] = expression;
  while (node.type === 'MemberExpression' || node.type === 'CallExpression' || node.type === 'TSNonNullExpression') {
    const before: Expression =
      node.type === 'MemberExpression' ? (node.object as Expression) : node.type === 'CallExpression' ? node.callee : node.expression;
    if ('optional' in node && node.optional) {
      const at = source.indexOf('?.', before.end);
      const plain = node.type === 'MemberExpression' && !node.computed ? '.' : '';
      changes.push(constant({ start, end }, source.slice(start, at) + plain + source.slice(at + 2, end)));
    }
    node = before;
  }
  return changes;
}

function ofCall({ start, end, callee }: CallExpression, source: string): readonly Change[] {
  if (callee.type !== 'MemberExpression' || callee.computed || callee.optional || callee.property.type !== 'Identifier') return [];
  const { object, property } = callee;
  if (LEFT_OUT.has(property.name)) return [constant({ start, end }, source.slice(start, object.end))];
  const other = METHODS.get(property.name);
  return other === undefined
    ? []
    : [constant({ start, end }, source.slice(start, property.start) + other + source.slice(property.end, end))];
}

function isEffect({ expression }: ExpressionStatement): boolean {
  const effect = expression.type === 'AwaitExpression' ? expression.argument : expression;
  if (effect.type === 'CallExpression') return effect.callee.type !== 'Super';
  return effect.type === 'AssignmentExpression' || effect.type === 'ChainExpression';
}

/** Where a block has one statement that is changed by itself, an empty block would be the same mistake. */
function isMoreThanItsStatement({ body }: BlockStatement): boolean {
  const [first] = body;
  if (!first || body.some(callsSuper)) return false;
  return body.length > 1 || !['ThrowStatement', 'ReturnStatement', 'ExpressionStatement'].includes(first.type);
}

function callsSuper(statement: Statement): boolean {
  return (
    statement.type === 'ExpressionStatement' &&
    statement.expression.type === 'CallExpression' &&
    statement.expression.callee.type === 'Super'
  );
}
