import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';

/** Which rooms a room may import. */
const ROOMS: Record<string, readonly string[]> = {
  core: [],
  wire: ['core'],
  tools: ['core', 'wire'],
  access: ['core', 'wire'],
  journal: ['core', 'wire'],
  agents: ['core', 'tools'],
  profiles: ['core', 'tools'],
  matter: ['core', 'profiles'],
  sensors: ['core', 'profiles', 'tools'],
  mesh: ['core', 'wire', 'tools'],
  connectors: ['core', 'tools'],
  gateway: ['core', 'wire', 'tools'],
  cli: ['core', 'wire', 'profiles'],
  monitor: ['core', 'wire'],
  config: ['core', 'tools', 'mesh', 'sensors', 'connectors', 'journal'],
  offline: ['core', 'wire', 'journal', 'profiles', 'matter', 'mesh', 'sensors', 'config'],
  hub: ['core', 'wire', 'tools', 'access', 'journal', 'agents', 'profiles', 'matter', 'sensors', 'mesh', 'connectors', 'gateway', 'config'],
};
const SRC = join(import.meta.dirname, '../src');

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
const roomOf = (path: string): string | undefined => (path.includes('/') ? path.split('/')[0] : undefined);

describe('rooms', () => {
  test('there are sources to look at', () => {
    expect(sources.length).toBeGreaterThan(15);
    expect(imports.length).toBeGreaterThan(15);
  });

  test('each room imports only what its line allows', () => {
    const wrong = imports.filter(({ file, target }) => {
      const from = roomOf(file);
      const to = roomOf(target);
      if (from === undefined || to === undefined || !(to in ROOMS) || from === to) return false;
      return !(ROOMS[from] ?? []).includes(to);
    });
    expect(wrong).toEqual([]);
  });

  test('every folder of src is a room of the table', () => {
    expect(sources.map(roomOf).filter((room) => room !== undefined && !(room in ROOMS))).toEqual([]);
  });

  test('CONTRIBUTING.md draws the same picture', () => {
    const text = readFileSync(join(SRC, '../CONTRIBUTING.md'), 'utf8');
    const rows = [...text.matchAll(/^\| (\w+) \| ([^|]+) \|/gm)].filter(([, room]) => room !== 'room');
    const drawn = rows.map(([, room = '', allowed = '']) => [room, allowedIn(allowed).toSorted()]);
    expect(Object.fromEntries(drawn)).toEqual(
      Object.fromEntries(Object.entries(ROOMS).map(([room, allowed]) => [room, allowed.toSorted()])),
    );
  });

  test('beside the rooms are the program and the library alone', () => {
    expect(sources.filter((file) => roomOf(file) === undefined).toSorted()).toEqual(['index.ts', 'main.ts']);
  });

  test('only matter/ imports matter.js, only mesh/engine libp2p, only gateway/mcp the SDK of MCP, only monitor/ Lit', () => {
    expect(imports.filter(({ file, target }) => target.startsWith('@matter/') && roomOf(file) !== 'matter')).toEqual([]);
    expect(imports.filter(({ file, target }) => /^(@libp2p\/|libp2p)/.test(target) && !file.startsWith('mesh/engine/'))).toEqual([]);
    expect(imports.filter(({ file, target }) => target.startsWith('@modelcontextprotocol/') && !file.startsWith('gateway/mcp/'))).toEqual(
      [],
    );
    expect(imports.filter(({ file, target }) => /^(lit|uplot)(\/|$)/.test(target) && roomOf(file) !== 'monitor')).toEqual([]);
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
    const APART = /^(live|home|fixtures|openapi-client|scripts|systemd)(\/|$)/;
    const tests = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.test.ts'));
    const homes = new Set(['.', ...sources.map(dirname)]);
    expect(tests.filter((file) => !APART.test(file) && !homes.has(dirname(file)))).toEqual([]);
  });

  test('have at most 500 lines', () => {
    const long = sources.filter((file) => readFileSync(join(SRC, file), 'utf8').split('\n').length > 501);
    expect(long).toEqual([]);
  });
});

/** `core, wire`, `–` or `every room but cli, monitor`. */
function allowedIn(words: string): readonly string[] {
  if (words === '–') return [];
  const [, excluded] = /^every room but (.+)$/.exec(words) ?? [];
  if (excluded === undefined) return words.split(', ');
  const others = new Set([...excluded.split(', '), 'hub']);
  return Object.keys(ROOMS).filter((room) => !others.has(room));
}
