import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DIALOGS } from '../../live/page/dialogs.ts';

/** A dialog that only happens in a story, a test of `test/live/page` that looks at it. */
interface StoryDialog {
  /** The file below `src/web` that draws it. */
  readonly source: string;
  readonly story: string;
  /** A text of the dialog that the story waits for or presses. */
  readonly shows: string;
}

const IN_STORIES: readonly StoryDialog[] = [
  { source: 'pages/mesh-page.ts', story: 'mesh.test.ts', shows: 'Revoke shed?' },
  { source: 'shell.ts', story: 'rough.test.ts', shows: 'Sign in as somebody else?' },
  { source: 'pages/connected-applications.ts', story: 'oauth.test.ts', shows: 'End access' },
  { source: 'pages/device-dialogs.ts', story: 'chores.test.ts', shows: 'New device' },
  { source: 'pages/undo-views.ts', story: 'automations.test.ts', shows: 'Put it back' },
  { source: 'pages/automation-dialogs.ts', story: 'automations.test.ts', shows: 'Why evening ran or not' },
  { source: 'pages/automation-dialogs.ts', story: 'automations.test.ts', shows: 'Bring back version 1 of evening' },
  { source: 'pages/automation-form.ts', story: 'automations.test.ts', shows: 'Choose another kind?' },
  { source: 'pages/automation-editor-page.ts', story: 'automations.test.ts', shows: 'Leave without saving?' },
];

const root = join(import.meta.dirname, '../../..');

function countsOf(sources: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries([...Map.groupBy(sources, (source) => source)].map(([source, own]) => [source, own.length]));
}

test('each dialog of the page is looked at in a browser, in a test of all dialogs or in a story', () => {
  const files = readdirSync(join(root, 'src/web'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const drawn = files.flatMap((source) =>
    Array.from(readFileSync(join(root, 'src/web', source), 'utf8').matchAll(/(?<!function )\bmodalDialog\(/g), () => source),
  );
  expect(drawn.length).toBeGreaterThan(20);
  expect(countsOf([...DIALOGS, ...IN_STORIES].map(({ source }) => source))).toEqual(countsOf(drawn));
});

test.each(IN_STORIES)('the story $story looks at the dialog with “$shows”', ({ story, shows }) => {
  const text = readFileSync(join(root, 'test/live/page', story), 'utf8');
  expect(text).toContain("getByRole('dialog'");
  expect(text).toContain(`name: '${shows}'`);
});
