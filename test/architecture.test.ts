import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAst } from 'vitest/node';

/** Which modules (folders of src) a module may import. */
const MODULES: Record<string, readonly string[]> = {
  core: [],
  codec: ['core'],
  storage: ['core', 'codec'],
  auth: ['core', 'codec'],
  tools: ['core', 'codec'],
  calls: ['core', 'codec', 'tools'],
  profiles: ['core', 'tools'],
  matter: ['core', 'profiles'],
  sensors: ['core', 'profiles', 'tools'],
  mesh: ['core', 'codec', 'tools', 'calls'],
  connectors: ['core', 'tools'],
  http: ['core', 'codec', 'tools', 'calls'],
  mcp: ['core', 'codec', 'tools', 'calls', 'http'],
  automations: ['core', 'codec', 'tools', 'calls'],
  bridge: ['core', 'tools', 'calls'],
  notices: ['core'],
  doctor: ['core'],
  cli: ['core', 'codec', 'profiles', 'doctor'],
  web: ['core', 'codec'],
  hub: [
    'core',
    'codec',
    'storage',
    'auth',
    'tools',
    'calls',
    'profiles',
    'matter',
    'sensors',
    'mesh',
    'connectors',
    'http',
    'mcp',
    'automations',
    'bridge',
    'notices',
    'doctor',
  ],
};
const SRC = join(import.meta.dirname, '../src');
const PAGE = join(SRC, '../docs/architecture.md');

interface Import {
  readonly file: string;
  readonly target: string;
}

const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
const imports: readonly Import[] = sources.flatMap((file) => {
  const text = readFileSync(join(SRC, file), 'utf8');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => {
    const specifier = match[1] ?? '';
    return { file, target: specifier.startsWith('.') ? relative(SRC, join(SRC, dirname(file), specifier)) : specifier };
  });
});
const moduleOf = (path: string): string | undefined => (path.includes('/') ? path.split('/')[0] : undefined);

describe('modules', () => {
  test('there are sources to look at', () => {
    expect(sources.length).toBeGreaterThan(15);
    expect(imports.length).toBeGreaterThan(15);
  });

  test('each module imports only what its line allows', () => {
    const wrong = imports.filter(({ file, target }) => {
      const from = moduleOf(file);
      const to = moduleOf(target);
      if (from === undefined || to === undefined || !(to in MODULES) || from === to) return false;
      return !(MODULES[from] ?? []).includes(to);
    });
    expect(wrong).toEqual([]);
  });

  test('every folder of src is a module of the table', () => {
    expect(sources.map(moduleOf).filter((module) => module !== undefined && !(module in MODULES))).toEqual([]);
  });

  test('docs/architecture.md has the same table', () => {
    const text = readFileSync(PAGE, 'utf8');
    const rows = [...text.matchAll(/^\| (\w+) \| ([^|]+) \| [^|]+ \|$/gm)].filter(([, module]) => module !== 'module');
    const drawn = rows.map(([, module = '', allowed = '']) => [module, allowedIn(allowed).toSorted()]);
    expect(Object.fromEntries(drawn)).toEqual(
      Object.fromEntries(Object.entries(MODULES).map(([module, allowed]) => [module, allowed.toSorted()])),
    );
  });

  test('beside the modules are the program and the library alone', () => {
    expect(sources.filter((file) => moduleOf(file) === undefined).toSorted()).toEqual(['index.ts', 'main.ts']);
  });

  test('only matter/ imports matter.js, only mesh/transport libp2p, only mcp/ the SDK of MCP, only web/ Lit', () => {
    expect(imports.filter(({ file, target }) => target.startsWith('@matter/') && moduleOf(file) !== 'matter')).toEqual([]);
    expect(imports.filter(({ file, target }) => /^(@libp2p\/|libp2p)/.test(target) && !file.startsWith('mesh/transport/'))).toEqual([]);
    expect(imports.filter(({ file, target }) => target.startsWith('@modelcontextprotocol/') && moduleOf(file) !== 'mcp')).toEqual([]);
    expect(imports.filter(({ file, target }) => /^(lit|uplot)(\/|$)/.test(target) && moduleOf(file) !== 'web')).toEqual([]);
  });
});

/** Classes of which one argument is plain data, and which one: details of an error, a request copied, options as the owner set them. */
const PLAIN_ARGUMENTS: Readonly<Record<string, number>> = {
  Ajv2020: 0,
  AtmoError: 2,
  AuditStore: 1,
  CommissionAttempt: 1,
  Endpoint: 1,
  Headers: 0,
  HistoryStore: 1,
  'Intl.DateTimeFormat': 1,
  MeshService: 1,
  NatsPublisher: 1,
  ShellParser: 0,
  RedisMirror: 1,
  RelayConnection: 1,
  CertificateManager: 1,
  URLSearchParams: 0,
};
/** Functions of the hub's wiring take collaborators as constructors do; of these one argument is plain data. */
const WIRING = /^(open|make)[A-Z]/;
const PLAIN_WIRING: Readonly<Record<string, number>> = { openMatterController: 1 };

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

interface Construction extends Node {
  readonly callee: Node;
  readonly arguments: readonly (Node & { readonly properties?: readonly (Node & { readonly argument?: Node })[] })[];
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** Calls `visit` with a node and all below it. */
function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  for (const value of Object.values(node)) {
    if (isNode(value)) walk(value, visit);
    else if (Array.isArray(value)) for (const one of value) if (isNode(one)) walk(one, visit);
  }
}

/** True for `...(isWanted && { option })` and `...(isWanted ? { one } : { other })`: single options, written out. */
function isChosenOption(spread: Node): boolean {
  if (spread.type === 'ParenthesizedExpression') return isChosenOption((spread as Node & { readonly expression: Node }).expression);
  if (spread.type === 'ObjectExpression') return true;
  const { right, consequent, alternate } = spread as Node & {
    readonly right?: Node;
    readonly consequent?: Node;
    readonly alternate?: Node;
  };
  if (spread.type === 'LogicalExpression') return right !== undefined && isChosenOption(right);
  return consequent !== undefined && alternate !== undefined && isChosenOption(consequent) && isChosenOption(alternate);
}

/** `callee: ...object` of each object that is spread into the collaborators of a constructor, or of the hub's wiring. */
function spreadCollaborators(file: string, text: string): readonly string[] {
  if (!text.includes('...') || !(file.startsWith('hub/') || /\bnew\b/.test(text))) return [];
  const textOf = ({ start, end }: Node) => text.slice(start, end);
  const found: string[] = [];
  walk(parseAst(text, { lang: 'ts' }) as Node, (node) => {
    if (node.type !== 'NewExpression' && node.type !== 'CallExpression') return;
    const { callee, arguments: given } = node as Construction;
    const name = textOf(callee);
    const isNew = node.type === 'NewExpression';
    if (!isNew && !(file.startsWith('hub/') && WIRING.test(name.replace(/^.*[.#]/, '')))) return;
    const plain = (isNew ? PLAIN_ARGUMENTS : PLAIN_WIRING)[name];
    for (const [index, { type, properties = [] }] of given.entries()) {
      if (type !== 'ObjectExpression' || index === plain) continue;
      const spreads = properties.filter(({ argument }) => argument !== undefined && !isChosenOption(argument));
      found.push(...spreads.map((spread) => `${file} ${name}: ${textOf(spread)}`));
    }
  });
  return found;
}

/** Names that a module gives to all the parts that it was handed. */
const ALL_PARTS = /^(parts|collaborators|ports|services|infrastructure|with)$/;

interface Named extends Node {
  readonly name?: string;
  readonly property?: Node;
  readonly expression?: Node;
  readonly argument?: Node;
  readonly properties?: readonly (Node & { readonly argument?: Node })[];
}

/** The last name of `parts`, `this.#parts` and `(parts as Parts)`. */
function lastName(node: Node): string {
  const { name, property, expression } = node as Named;
  return name ?? (property && lastName(property)) ?? (expression && lastName(expression)) ?? '';
}

/** Where a file spreads all its parts into an object, or takes what is left of them as one object. */
function spreadParts(file: string, text: string): readonly string[] {
  if (!text.includes('...')) return [];
  const found: string[] = [];
  walk(parseAst(text, { lang: 'ts' }) as Node, (node) => {
    if (node.type !== 'ObjectExpression' && node.type !== 'ObjectPattern') return;
    for (const { argument, start, end } of (node as Named).properties ?? [])
      if (argument && ALL_PARTS.test(lastName(argument))) found.push(`${file}: ${text.slice(start, end)}`);
  });
  return found;
}

describe('collaborators', () => {
  test('are never spread as a whole, whatever takes them', () => {
    expect(sources.flatMap((file) => spreadParts(file, readFileSync(join(SRC, file), 'utf8')))).toEqual([]);
  });

  test('that are spread as a whole are found', () => {
    const found = (text: string) => spreadParts('a.ts', text).length;
    expect(found('use({ ...parts, a });')).toBe(1);
    expect(found('class A { #parts = {}; use() { return { ...this.#parts }; } }')).toBe(1);
    expect(found('const { a, ...ports } = b;')).toBe(1);
    expect(found('const a = { ...(collaborators as B) };')).toBe(1);
    expect(found('const a = [...parts]; const b = { ...parts.c, ...rest };')).toBe(0);
  });

  test('no exemption from passing by name is left over', () => {
    const all = sources.map((file) => readFileSync(join(SRC, file), 'utf8')).join('\n');
    expect(Object.keys(PLAIN_ARGUMENTS).filter((name) => !all.includes(`new ${name}(`))).toEqual([]);
  });

  test('are passed by name: no object is spread into a constructor, or into what the hub opens', () => {
    expect(sources.flatMap((file) => spreadCollaborators(file, readFileSync(join(SRC, file), 'utf8')))).toEqual([]);
  });

  test('that are spread are found, options aside', () => {
    const found = (text: string, file = 'tools/a.ts') => spreadCollaborators(file, text).length;
    expect(found('new A({ ...ground });')).toBe(1);
    expect(found('class B { #x = {}; make() { return new A(1, { b: 2, ...this.#x.y }, { c }); } }')).toBe(1);
    expect(found('const text = [new A({ ...(ground as Ground) /* TypeScript */ })];')).toBe(1);
    expect(found('new A({ ...ground! });')).toBe(1);
    expect(found('const a = openA({ ...ground, clock });', 'hub/open-b.ts')).toBe(1);
    expect(found('const a = openA({ ...ground, clock });')).toBe(0);
    expect(found("new A({ ...(b !== undefined && { b }) }); const c = { ...d }; '{ ...e }'; // new A({ ...f })")).toBe(0);
    expect(found('new AtmoError(code, message, { ...details });')).toBe(0);
  });
});

describe('files', () => {
  test('import each other in a circle at most within a folder', () => {
    const targets = Map.groupBy(imports, ({ file }) => file);
    const reached = new Map<string, ReadonlySet<string>>();
    const reachedFrom = (start: string): ReadonlySet<string> => {
      const known = reached.get(start);
      if (known !== undefined) return known;
      const found = new Set([start]);
      // What a set is given while it is walked through is walked through too.
      for (const file of found) for (const { target } of targets.get(file) ?? []) found.add(target);
      reached.set(start, found);
      return found;
    };
    const abroad = imports.filter(({ file, target }) => dirname(file) !== dirname(target));
    expect(abroad.filter(({ file, target }) => reachedFrom(target).has(file))).toEqual([]);
  });

  test('have their tests in a folder of the same name', () => {
    const APART = /^(live|home|fixtures|fuzz|openapi-client|scripts|simulation|systemd)(\/|$)/;
    const tests = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.test.ts'));
    const homes = new Set(['.', ...sources.map(dirname)]);
    expect(tests.filter((file) => !APART.test(file) && !homes.has(dirname(file)))).toEqual([]);
  });

  test('have at most 500 lines', () => {
    const long = sources.filter((file) => readFileSync(join(SRC, file), 'utf8').split('\n').length > 501);
    expect(long).toEqual([]);
  });
});

describe('docs/architecture.md', () => {
  const text = readFileSync(PAGE, 'utf8');
  const paths = [...text.matchAll(/`((?:src|test|scripts|docs|device-profiles)\/[^`\s]+)`/g)].map(([, path = '']) => path);

  test('names files and folders that are there', () => {
    expect(paths.length).toBeGreaterThan(80);
    expect(paths.filter((path) => !existsSync(join(SRC, '..', path)))).toEqual([]);
  });

  test('names a file of every module', () => {
    const named = new Set(paths.map((path) => path.split('/')[1]));
    expect(Object.keys(MODULES).filter((module) => !named.has(module))).toEqual([]);
  });

  test('says for twenty tasks or more where to change something', () => {
    const [, section = ''] = text.split('## Where do I change');
    expect(section.match(/^\| .+ \| .*`[^`]+\/[^`]+`.*\|$/gm)?.length).toBeGreaterThanOrEqual(20);
  });
});

/** `core, codec`, `–` or `every module but cli, web`. */
function allowedIn(words: string): readonly string[] {
  if (words === '–') return [];
  const [, excluded] = /^every module but (.+)$/.exec(words) ?? [];
  if (excluded === undefined) return words.split(', ');
  const others = new Set([...excluded.split(', '), 'hub']);
  return Object.keys(MODULES).filter((module) => !others.has(module));
}
