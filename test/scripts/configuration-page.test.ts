import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CONFIG_SCHEMA } from '../../src/config/config-file.ts';
import { parseCheckedYaml } from '../../src/core/settings/checked-yaml.ts';
import { manufacturerModel } from '../../src/matter/model/manufacturer-models.ts';
import { parseManifest } from '../../src/tools/manifest/tool-manifest.ts';

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

test('the manifest and the cluster model on the page are accepted', () => {
  expect(parseManifest(blocks('yaml')[1] ?? '', 'page').map((entry) => entry.source.kind)).toEqual(['builtin', 'file']);
  expect(manufacturerModel(JSON.parse(blocks('json')[0] ?? ''), 'page').name).toBe('Sparkle');
});
