import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DIALOGS } from '../../live/page/dialogs.ts';

/** Dialogs that only happen in a story, which looks at them: `test/live/page/<name>.test.ts`. */
const IN_STORIES = {
  mesh: ['a hub is put out of the mesh'],
  people: ['a link of another person'],
  oauth: ['the access of an application ends'],
  // The second is another form of the first in the sources.
  chores: ['a device is replaced', 'there is no device to replace it with'],
  automations: [
    'what people have to be asked about is undone',
    'why an automation ran',
    'versions of an automation',
    'steps are dropped',
    'leave without saving',
  ],
};

test('each dialog of the page is looked at in a browser, in a test of all dialogs or in a story', () => {
  const web = join(import.meta.dirname, '../../../src/web');
  const sources = readdirSync(web, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const written = sources.flatMap((name) => readFileSync(join(web, name), 'utf8').match(/return modalDialog\(/g) ?? []);
  expect(DIALOGS.length + Object.values(IN_STORIES).flat().length).toBe(written.length);
});
