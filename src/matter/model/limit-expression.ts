import { type Constraint, FieldValue } from '@matter/model';

/** A bound of the data model that is computed from the device's other attributes, such as `maxLevel` or `endTime - 1`. */
export type LimitExpression = Constraint.Expression;

const OPERATIONS: Record<string, (left: number, right: number) => number> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
};

/** True when the bound names another attribute instead of being a number. */
export function isLive(expression: Constraint.Expression | undefined): expression is LimitExpression {
  if (typeof expression !== 'object' || expression === null || expression instanceof Date || Array.isArray(expression)) return false;
  return 'lhs' in expression || 'args' in expression || FieldValue.referenced(expression as FieldValue) !== undefined;
}

/** The bound as a number, with attributes looked up in `state` by their camelCase names; undefined when one is not known. */
export function evaluateLimit(expression: LimitExpression, state: Readonly<Record<string, unknown>>): number | undefined {
  const value = resolve(expression, state);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** The camelCase names of the attributes that the bound depends on. */
export function limitReferences(expression: LimitExpression | undefined): readonly string[] {
  if (typeof expression !== 'object' || expression === null) return [];
  if ('args' in expression) return expression.args.flatMap(limitReferences);
  if ('lhs' in expression)
    return expression.type === '.' ? limitReferences(expression.lhs) : [expression.lhs, expression.rhs].flatMap(limitReferences);
  const name = FieldValue.referenced(expression as FieldValue);
  return name === undefined ? [] : [name];
}

function resolve(expression: LimitExpression, state: Readonly<Record<string, unknown>>): unknown {
  if (typeof expression === 'number' || typeof expression === 'bigint') return Number(expression);
  if (typeof expression !== 'object' || expression === null) return undefined;
  if ('args' in expression) return resolveFunction(expression, state);
  if ('lhs' in expression) return resolveOperator(expression, state);
  const name = FieldValue.referenced(expression as FieldValue);
  if (name === undefined) return FieldValue.numericValue(expression as FieldValue);
  const value = state[name];
  return typeof value === 'bigint' ? Number(value) : value;
}

function resolveFunction(call: Constraint.Function, state: Readonly<Record<string, unknown>>): number | undefined {
  const values = call.args.map((argument) => resolve(argument, state));
  if (!values.every((value) => typeof value === 'number')) return undefined;
  return call.type === 'maxOf' ? Math.max(...values) : Math.min(...values);
}

function resolveOperator(operator: Constraint.BinaryOperator, state: Readonly<Record<string, unknown>>): unknown {
  const left = resolve(operator.lhs, state);
  if (operator.type === '.') {
    return typeof left === 'object' && left !== null ? resolve(operator.rhs, left as Record<string, unknown>) : undefined;
  }
  const right = resolve(operator.rhs, state);
  if (typeof left !== 'number' || typeof right !== 'number') return undefined;
  return OPERATIONS[operator.type]?.(left, right);
}
