import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildPage, type PageSize } from '../../scripts/build-page.ts';

let dir = '';
let size: PageSize = { gzipBytes: 0, brotliBytes: 0 };

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'built-page-'));
  size = await buildPage(join(dir, 'page'));
});
afterAll(() => rmSync(dir, { recursive: true }));

const assets = (): readonly string[] => readdirSync(join(dir, 'page/assets')).filter((name) => !/\.(gz|br)$/.test(name));
const read = (path: string) => readFileSync(join(dir, 'page', path));

describe('the built page', () => {
  test('is small enough for a weak network', () => {
    expect(size.gzipBytes).toBeGreaterThan(10_000);
    expect(size.gzipBytes).toBeLessThanOrEqual(100_000);
    expect(size.brotliBytes).toBeLessThan(size.gzipBytes);
  });

  test('names only files of its own, and has no script or style in the text', () => {
    const shell = read('index.html').toString();
    const named = [...shell.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
    expect(named).toHaveLength(3);
    for (const path of named) expect(assets()).toContain(path.replace('/assets/', ''));
    expect(shell).not.toMatch(/<script[^>]*>[^<]|<style|\son\w+=|style=|\{\{/);
  });

  test('has every file compressed beside it, with a name that the door serves', () => {
    for (const name of assets()) {
      expect(name).toMatch(/^[a-z][a-z0-9-]{0,63}-[A-Z0-9]{8}\.(?:css|js|svg)$/);
      const bytes = read(`assets/${name}`);
      expect(gunzipSync(read(`assets/${name}.gz`))).toEqual(bytes);
      expect(brotliDecompressSync(read(`assets/${name}.br`))).toEqual(bytes);
    }
  });

  test('asks nobody but its own hub for anything', () => {
    const texts = assets().map((name) => read(`assets/${name}`).toString());
    const addresses = texts.flatMap((text) =>
      [...text.matchAll(/(?:fetch|import|url)\(["'`]?(https?:)?\/\/[^"'`)]+/g)].map(([match]) => match),
    );
    expect(addresses).toEqual([]);
  });
});
