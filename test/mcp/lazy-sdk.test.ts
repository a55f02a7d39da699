import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const SOURCES = join(import.meta.dirname, '../../src');
const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));

/** Files in which a line that stays in the running program imports what the pattern names. */
function importing(pattern: RegExp): readonly string[] {
  const statement = /^import (?!type )[^;]*? from '([^']+)';|^export [^;]*? from '([^']+)';/gm;
  return files.filter((file) => {
    const text = readFileSync(join(SOURCES, file), 'utf8');
    return [...text.matchAll(statement)].some(([, from, again]) => pattern.test(from ?? again ?? ''));
  });
}

describe('the SDK of MCP', () => {
  it('is loaded by the server alone, and the server only when a client comes', () => {
    const users = importing(/^@modelcontextprotocol\//);
    expect(users.toSorted()).toEqual(['mcp/mcp-server.ts', 'mcp/server-session.ts']);
    expect(importing(/\/(mcp-server|server-session)\.ts$/)).toEqual(['mcp/server-session.ts']);
  });

  it('is not all that waits for the first client: so do the features', () => {
    expect(importing(/\/mcp-features\.ts$/)).toEqual([]);
    const users = importing(/\/(?!mcp-)[a-z]+-feature\.ts$/);
    expect(users.toSorted()).toEqual(['mcp/mcp-features.ts']);
  });
});
