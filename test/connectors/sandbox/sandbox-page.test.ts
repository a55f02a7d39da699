import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SANDBOX_SECTION } from '../../../src/connectors/sandbox/sandbox-config.ts';
import { parseCheckedYaml } from '../../../src/core/config/checked-yaml.ts';
import type { JsonSchema } from '../../../src/core/json.ts';
import { CONFIG_SCHEMA } from '../../../src/hub/config/config-file.ts';
import { normalizeDefinition } from '../../../src/tools/definition/public-definition.ts';
import { parseRecordFile } from '../../../src/tools/manifest/record-file.ts';
import { manifestEntries } from '../../../src/tools/manifest/tool-manifest.ts';

const page = readFileSync(new URL('../../../docs/sandbox.md', import.meta.url), 'utf8');
const [settings = '', manifest = ''] = [...page.matchAll(/```yaml\n(.*?)```/gs)].map((match) => match[1] ?? '');

test('the settings on the page are accepted, name every key, and show the defaults', () => {
  const { connectors } = parseCheckedYaml(settings, 'docs/sandbox.md', CONFIG_SCHEMA) as {
    connectors: { sandbox: Record<string, unknown> };
  };
  const keys = (schema: object) => Object.keys(schema).sort();
  expect(keys(connectors.sandbox)).toEqual(keys(SANDBOX_SECTION.properties));
  const defaults: Readonly<Record<string, JsonSchema>> = SANDBOX_SECTION.properties;
  for (const name of ['memory_mb', 'processes', 'output_kb', 'temp_mb', 'cpu_seconds', 'max_concurrent']) {
    expect([name, connectors.sandbox[name]]).toEqual([name, defaults[name]?.default]);
  }
});

test('the manifest on the page is accepted, with its definitions', () => {
  const { entries: placed, leftOut } = manifestEntries(parseRecordFile(manifest, 'docs/sandbox.md'));
  expect(leftOut).toEqual([]);
  const entries = placed.map(({ entry }) => entry);
  expect(entries.map(({ source }) => source.kind)).toEqual(['cmd', 'image', 'js', 'file']);
  for (const { definition, name } of entries) expect(normalizeDefinition({ ...definition, name }).description).not.toBe('');
});
