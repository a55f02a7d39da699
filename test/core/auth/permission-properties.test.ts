import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { covers, type Grant, includesGrant, parseGrant, parsePermission, type ResourceGroups } from '../../../src/core/auth/permission.ts';

/** Small on purpose: random texts have to meet each other. */
const NAMESPACES = ['a', 'b', 'admin'];
const ACTIONS = ['r', 'w'];
const SEGMENTS = ['x', 'y', 'xx'];
const GROUPS = ['@type/t', '@area/t'];
const PATHS = [...SEGMENTS, ...SEGMENTS.flatMap((head) => SEGMENTS.map((tail) => `${head}/${tail}`))];
const DEEP_PATHS = [...PATHS, ...PATHS.flatMap((head) => SEGMENTS.map((tail) => `${head}/${tail}`))];

const heads = NAMESPACES.flatMap((namespace) => ACTIONS.map((action) => `${namespace}:${action}`));
const plainGrants = [
  '*',
  ...NAMESPACES.map((namespace) => `${namespace}:*`),
  ...heads.flatMap((head) => [head, `${head}:*`, ...PATHS.flatMap((path) => [`${head}:${path}`, `${head}:${path}/*`])]),
];
const grants = [...plainGrants, ...heads.flatMap((head) => GROUPS.map((group) => `${head}:${group}`))];
const requirements = heads.flatMap((head) => [head, ...DEEP_PATHS.map((path) => `${head}:${path}`)]);

const grantOf = fc.constantFrom(...grants);
const requirementOf = fc.constantFrom(...requirements);
const membersOf = fc.record({ type: fc.subarray(PATHS), area: fc.subarray(PATHS) });
type Members = { readonly type: readonly string[]; readonly area: readonly string[] };

const groupsOf = (members: Members): ResourceGroups => ({ isMember: (resource, { by }) => members[by].includes(resource) });
const NOBODY: Members = { type: [], area: [] };

function parsed(text: string): Grant {
  const grant = parseGrant(text);
  if (!grant) throw new Error(`${text} is no grant`);
  return grant;
}

function doesCover(grant: string, required: string, members: Members = NOBODY): boolean {
  const permission = parsePermission(required);
  return permission !== undefined && covers(parsed(grant), permission, groupsOf(members));
}

/** The same question answered another way: a grant as a regular expression over the text of requirements. */
function oracle(grant: string, required: string, members: Members): boolean {
  const group = /^(.*):@(type|area)\/t$/.exec(grant);
  if (group) return members[group[2] === 'type' ? 'type' : 'area'].some((member) => required === `${group[1]}:${member}`);
  if (grant === '*') return !required.startsWith('admin:');
  const literal = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const parts = grant.split(':');
  if (parts.length === 2 && parts[1] === '*') return new RegExp(`^${literal(parts[0] ?? '')}:.+$`, 's').test(required);
  if (parts.length === 3 && parts[2] === '*') return new RegExp(`^${literal(parts.slice(0, 2).join(':'))}(:.+)?$`, 's').test(required);
  if (grant.endsWith('/*')) return new RegExp(`^${literal(grant.slice(0, -1))}.+$`, 's').test(required);
  return grant === required;
}

/** The grammar as one expression each, written apart from the parser. */
const SEGMENT = '(?!\\.{1,2}(?:\\/|$))[A-Za-z0-9_@.+-]+';
const RESOURCE = `(?!@)${SEGMENT}(?:\\/${SEGMENT})*`;
const HEAD = '[a-z][a-z0-9_-]{0,31}:[a-z][a-z0-9_-]{0,31}';
const REQUIREMENT = new RegExp(`^${HEAD}(?::(?=.{1,256}$)${RESOURCE})?$`);
const GRANT = new RegExp(
  `^(?:\\*|[a-z][a-z0-9_-]{0,31}:\\*|${HEAD}(?::(?=.{1,256}$)(?:\\*|@(?:type|area)\\/[a-z0-9][a-z0-9_-]{0,63}|${RESOURCE}(?:\\/\\*)?))?)$`,
);

const nearGrammar = fc.oneof(
  fc
    .array(
      fc.constantFrom(
        'a',
        'Z',
        '*',
        ':',
        '/',
        '.',
        '..',
        '@',
        '@type/',
        '@area/',
        '{',
        '}',
        '%',
        ' ',
        '\n',
        '-',
        '_',
        '9',
        'admin',
        '\0',
        'é',
      ),
      {
        maxLength: 9,
      },
    )
    .map((parts) => parts.join('')),
  fc.array(fc.constantFrom('a', '*', '.', '..', '@type', 'b-', '@'), { maxLength: 4 }).map((parts) => `a:b:${parts.join('/')}`),
  grantOf,
  requirementOf,
);

describe('permissions, whatever the text', () => {
  test('no text makes a parser throw', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' }), nearGrammar), (text) => {
        parseGrant(text);
        parsePermission(text);
      }),
      { numRuns: 2_000 },
    );
  });

  test('the parsers take exactly the texts of the grammar', () => {
    const taken = { grants: 0, requirements: 0 };
    fc.assert(
      fc.property(nearGrammar, (text) => {
        expect(parsePermission(text) !== undefined, `requirement ${text}`).toBe(REQUIREMENT.test(text));
        expect(parseGrant(text) !== undefined, `grant ${text}`).toBe(GRANT.test(text));
        taken.grants += parseGrant(text) ? 1 : 0;
        taken.requirements += parsePermission(text) ? 1 : 0;
      }),
      { numRuns: 5_000 },
    );
    expect(Math.min(taken.grants, taken.requirements)).toBeGreaterThan(500);
  });

  test('covering agrees with the oracle on every pair of a small world', () => {
    const members: Members = { type: ['x', 'x/y'], area: ['y'] };
    const wrong = grants.flatMap((grant) =>
      requirements
        .filter((required) => doesCover(grant, required, members) !== oracle(grant, required, members))
        .map((r) => `${grant} ${r}`),
    );
    expect(wrong).toEqual([]);
    expect(grants.length * requirements.length).toBeGreaterThan(30_000);
  });

  test('what includes another grant covers all that it covers, whoever belongs to which group', () => {
    let included = 0;
    fc.assert(
      fc.property(grantOf, grantOf, requirementOf, membersOf, (parent, child, required, members) => {
        if (!includesGrant(parsed(parent), parsed(child))) return;
        included += 1;
        if (doesCover(child, required, members)) expect(doesCover(parent, required, members)).toBe(true);
      }),
      { numRuns: 20_000 },
    );
    expect(included).toBeGreaterThan(300);
  });

  test('without groups, one grant includes another exactly when it covers as much of a small world', () => {
    const covered = new Map(plainGrants.map((grant) => [grant, requirements.filter((required) => oracle(grant, required, NOBODY))]));
    const wrong = plainGrants.flatMap((parent) =>
      plainGrants.filter((child) => {
        // Only `*` reaches the namespaces that the small world does not have.
        const isSubset = child === '*' ? parent === '*' : (covered.get(child) ?? []).every((required) => oracle(parent, required, NOBODY));
        return includesGrant(parsed(parent), parsed(child)) !== isSubset;
      }),
    );
    expect(wrong).toEqual([]);
  });

  test('every grant includes itself', () => {
    expect(grants.filter((grant) => !includesGrant(parsed(grant), parsed(grant)))).toEqual([]);
  });

  test('inclusion is transitive on every triple of the small world', () => {
    const parents = grants.map(parsed);
    const below = parents.map((parent) => parents.map((child) => includesGrant(parent, child)));
    const broken = below.flatMap((row, a) =>
      row.flatMap((isBelow, b) => (isBelow ? (below[b] ?? []).flatMap((isDeeper, c) => (isDeeper && !row[c] ? [[a, b, c]] : [])) : [])),
    );
    expect(broken).toEqual([]);
  });
});
