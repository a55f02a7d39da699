/** Writes the Python client of a hub: `node scripts/python-client.ts [--document FILE] [--outdir DIR]`. FILE is what GET /openapi.json answers. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { JsonObject } from '../src/core/json.ts';
import { ROOT } from './bundle.ts';
import { buildPythonClient } from './package/python-client.ts';

const { values } = parseArgs({ options: { document: { type: 'string' }, outdir: { type: 'string', default: join(ROOT, 'dist') } } });
const { document, outdir } = values;
const given = document === undefined ? undefined : (JSON.parse(readFileSync(document, 'utf8')) as JsonObject);
console.log(await buildPythonClient(resolve(outdir), given));
