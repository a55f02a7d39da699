import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compileRules } from '../../src/auth/rules/rule-compiler.ts';
import { locatedYaml, parseCheckedYaml } from '../../src/core/config/checked-yaml.ts';
import { isJsonObject, type JsonObject } from '../../src/core/json.ts';
import { CONFIG_SCHEMA } from '../../src/hub/config/config-file.ts';
import { manufacturerModel } from '../../src/matter/model/manufacturer-clusters.ts';
import { thermalTool } from '../../src/tools/builtin/board-tools.ts';
import { loadManifest } from '../../src/tools/manifest/tool-manifest.ts';
import { makePipeline, owner } from '../calls/pipeline-fixture.ts';
import { takenInMemory } from '../taken-texts.ts';
import { blocksOf, PAGES } from './page-commands.ts';

const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
const blocks = (language: string) => [...page.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map((match) => match[1] ?? '');

test('the configuration on the page is accepted, names every setting, and shows the defaults', () => {
  const [text = ''] = blocks('yaml');
  const shown = parseCheckedYaml(text, 'docs/configuration.md', CONFIG_SCHEMA) as Record<string, Record<string, unknown>>;
  const defaults = parseCheckedYaml('{}', 'none', CONFIG_SCHEMA) as typeof shown;
  expect(Object.keys(shown).sort()).toEqual(Object.keys(CONFIG_SCHEMA.properties).sort());
  for (const [section, values] of Object.entries(defaults)) {
    if (typeof values === 'object') expect(shown[section]).toMatchObject(values);
  }
});

/** The YAML of all pages that a hub reads as its settings or its rules; lists of tools and automations have tests of their own. */
const SETTINGS = PAGES.flatMap((page) => blocksOf(page, ['yaml']).map((text, index) => ({ file: `${page} ${index + 1}`, text })))
  .map((shown) => ({ ...shown, content: locatedYaml(shown.text, shown.file).value }))
  .filter(({ content }) => isJsonObject(content) && !('trigger' in content) && !Array.isArray(content.tools));

test('settings are found on many pages', () => {
  expect(SETTINGS.length).toBeGreaterThan(20);
});

test.each(SETTINGS)('what stands in $file is accepted', ({ file, text, content }) => {
  const isRules = isJsonObject(content) && Array.isArray(content.rules);
  expect(() => (isRules ? compileRules(text, file) : parseCheckedYaml(text, file, CONFIG_SCHEMA))).not.toThrow();
});

/** Keys of a part of the file, with all that is inside of them. */
function keysIn(schema: object): readonly string[] {
  return Object.entries(schema).flatMap(([keyword, value]: [string, unknown]) => {
    if (typeof value !== 'object' || value === null) return [];
    return [...(keyword === 'properties' ? Object.keys(value) : []), ...keysIn(value)];
  });
}

test('every key stands on the page, or on one that it names', () => {
  const named = [...page.matchAll(/[a-z-]+\.md/g)].map(([name]) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8'));
  const text = [page, ...named].join('\n');
  const keys = [...new Set(keysIn(CONFIG_SCHEMA))];
  expect(keys.length).toBeGreaterThan(150);
  expect(keys.filter((key) => !new RegExp(`(^|[\\s{,\`])${key}[:\`]`, 'm').test(text))).toEqual([]);
  const connectors = Object.keys(CONFIG_SCHEMA.properties.connectors.properties);
  expect(connectors.filter((name) => !new RegExp(`^ {2}${name}:`, 'm').test(page))).toEqual([]);
});

test('the manifest on the page runs as it is printed, with the code beside it', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'page-'));
  try {
    mkdirSync(join(directory, 'tools'), { mode: 0o700 });
    const write = (file: string, text = '') => writeFileSync(join(directory, file), text, { mode: 0o600 });
    write('tools.yaml', blocks('yaml')[1]);
    write('tools/analyzer.mjs', blocks('js')[0]);
    const builtins = new Map([['thermal', (name: string, config: JsonObject) => thermalTool(name, config)]]);
    const { tools, leftOut } = await loadManifest(join(directory, 'tools.yaml'), {
      builtins,
      allowedPlugins: [],
      takenOf: takenInMemory(),
    });
    expect(leftOut).toEqual([]);
    const { registry, pipeline } = makePipeline();
    for (const tool of tools) registry.register(tool);
    expect(registry.find('board_temperature')?.definition.name).toBe('board_temperature');
    expect(await pipeline.call({ principal: owner, tool: 'my_analyzer', params: { a: 2 } })).toMatchObject({ result: { sum: 3 } });
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('the plugin on the page is a package that the manifest beside it names', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'page-'));
  try {
    const folder = join(directory, 'node_modules/hub-dice');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const [packageFile = '', code = ''] = [blocks('json')[0], blocks('js')[1]];
    writeFileSync(join(folder, 'package.json'), packageFile, { mode: 0o600 });
    writeFileSync(join(folder, 'index.js'), code, { mode: 0o600 });
    writeFileSync(join(directory, 'tools.yaml'), blocks('yaml')[2] ?? '', { mode: 0o600 });
    const { tools, leftOut } = await loadManifest(join(directory, 'tools.yaml'), {
      builtins: new Map(),
      allowedPlugins: ['hub-dice'],
      takenOf: takenInMemory(),
    });
    expect(leftOut).toEqual([]);
    const { registry, pipeline } = makePipeline();
    for (const tool of tools) registry.register(tool);
    const answer = await pipeline.call({ principal: owner, tool: 'roll', params: {} });
    expect(answer).toMatchObject({ status: 'success', result: { rolled: expect.any(Number) } });
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('the cluster model on the page is accepted', () => {
  expect(manufacturerModel(JSON.parse(blocks('json')[1] ?? ''), 'page').name).toBe('Sparkle');
});
