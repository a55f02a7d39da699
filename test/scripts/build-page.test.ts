import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildPage, type PageSize } from '../../scripts/build-page.ts';

let dir = '';
const NOTHING = { gzipBytes: 0, brotliBytes: 0 };
let size: PageSize = { first: NOTHING, all: NOTHING };

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'built-page-'));
  size = await buildPage(join(dir, 'page'));
});
afterAll(() => rmSync(dir, { recursive: true }));

const assets = (): readonly string[] => readdirSync(join(dir, 'page/assets')).filter((name) => !/\.(gz|br)$/.test(name));
const read = (path: string) => readFileSync(join(dir, 'page', path));

describe('the built page', () => {
  test('is small enough for a weak network', () => {
    expect(size.first.gzipBytes).toBeGreaterThan(10_000);
    expect(size.first.gzipBytes).toBeLessThanOrEqual(120_000);
    expect(size.first.brotliBytes).toBeLessThan(size.first.gzipBytes);
  });

  test('loads most pages and every other language only when they are opened', () => {
    expect(size.all.gzipBytes).toBeGreaterThan(size.first.gzipBytes);
    const scripts = assets().filter((name) => name.endsWith('.js'));
    const having = (words: string) => scripts.filter((name) => read(`assets/${name}`).toString().includes(words));
    expect(having('Skip to content')).toHaveLength(1);
    expect(having('Zum Inhalt springen')).toHaveLength(1);
    expect(having('Zum Inhalt springen')).not.toEqual(having('Skip to content'));
    const [main = ''] = scripts.filter((name) => name.startsWith('main-'));
    expect(read('index.html').toString()).toContain(main);
    expect(having('define("atmo-page-mesh"')).toHaveLength(1);
    expect(having('define("atmo-page-mesh"')).not.toContain(main);
  });

  test('names only files of its own, and has no script or style in the text', () => {
    const shell = read('index.html').toString();
    const named = [...shell.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
    expect(named).toHaveLength(5);
    for (const path of named) if (path !== '/manifest.webmanifest') expect(assets()).toContain(path.replace('/assets/', ''));
    expect(shell).not.toMatch(/<script[^>]*>[^<]|<style|\son\w+=|style=|\{\{/);
  });

  test('has every file compressed beside it, with a name that the door serves', () => {
    for (const name of assets()) {
      expect(name).toMatch(/^[a-z][a-z0-9-]{0,63}-[A-Z0-9]{8}\.(?:css|js|png|svg)$/);
      // A picture is compressed already.
      if (name.endsWith('.png')) continue;
      const bytes = read(`assets/${name}`);
      expect(gunzipSync(read(`assets/${name}.gz`))).toEqual(bytes);
      expect(brotliDecompressSync(read(`assets/${name}.br`))).toEqual(bytes);
    }
  });

  test('is an app: a manifest with a name, a start, and icons of the sizes that it says', () => {
    const manifest = JSON.parse(read('manifest.webmanifest').toString()) as Record<string, unknown>;
    expect(manifest).toMatchObject({
      id: '/',
      name: 'Atmosphere',
      short_name: 'Atmosphere',
      start_url: '/',
      scope: '/',
      display: 'standalone',
    });
    expect(manifest.theme_color).toMatch(/^#[0-9a-f]{6}$/);
    const icons = manifest.icons as readonly { src: string; sizes: string; type: string; purpose: string }[];
    const pictures = icons.filter(({ type }) => type === 'image/png');
    expect(pictures.map(({ sizes, purpose }) => `${sizes} ${purpose}`)).toEqual([
      '192x192 any',
      '512x512 any',
      '192x192 maskable',
      '512x512 maskable',
    ]);
    for (const { src, sizes } of pictures) {
      const png = read(src.slice(1));
      expect(png.subarray(1, 4).toString()).toBe('PNG');
      expect(`${png.readUInt32BE(16)}x${png.readUInt32BE(20)}`).toBe(sizes);
      expect(png.length).toBeLessThan(60_000);
    }
  });

  test('has a service worker that keeps every file of the build, and nothing else', () => {
    const worker = read('service-worker.js').toString();
    const kept = [...worker.matchAll(/"\/assets\/([^"]+)"/g)].map(([, name]) => name ?? '');
    expect(kept.toSorted()).toEqual(assets().toSorted());
    expect(worker).not.toContain('/api/');
  });

  test('asks nobody but its own hub for anything', () => {
    const texts = assets().map((name) => read(`assets/${name}`).toString());
    const addresses = texts.flatMap((text) =>
      [...text.matchAll(/(?:fetch|import|url)\(["'`]?(https?:)?\/\/[^"'`)]+/g)].map(([match]) => match),
    );
    expect(addresses).toEqual([]);
  });
});
