import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CONFIG_SCHEMA } from '../../src/config-file.ts';
import { parseCheckedYaml } from '../../src/core/checked-yaml.ts';
import { manufacturerModel } from '../../src/matter/model/manufacturer-models.ts';
import { parseManifest } from '../../src/tools/tool-manifest.ts';

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

test('the manifest and the cluster model on the page are accepted', () => {
  expect(parseManifest(blocks('yaml')[1] ?? '', 'page').map((entry) => entry.source.kind)).toEqual(['builtin', 'file']);
  expect(manufacturerModel(JSON.parse(blocks('json')[0] ?? ''), 'page').name).toBe('Sparkle');
});
