/** Writes the pages of docs/ that are made from the sources. */
import { writeFileSync } from 'node:fs';
import { automationJsonSchema } from './automation-json-schema.ts';
import { cliPage } from './cli-page.ts';
import { errorTable } from './error-table.ts';

writeFileSync(new URL('../docs/errors.md', import.meta.url), errorTable());
writeFileSync(new URL('../docs/cli.md', import.meta.url), cliPage());
writeFileSync(new URL('../docs/automation.schema.json', import.meta.url), automationJsonSchema());
