import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenPage } from './open-page.ts';

/** `npm run screens` sets it: every view is kept there, for somebody who looks at the design. */
const FOLDER = process.env.SCREENS_DIR;
export const ARE_PICTURES_KEPT = FOLDER !== undefined;
const DOCS = join(import.meta.dirname, '../../../docs/screens');
/** What the documents show. */
const SHOWN: ReadonlySet<string> = new Set([
  'home-light-en',
  'home-phone-en',
  'home-phone-dark-de',
  'approvals-phone-en',
  'devices-dark-en',
  'question-phone-de',
  'tools-light-en',
  'automations-light-en',
  'people-light-en',
  'agents-light-en',
  'settings-light-en',
]);

/** Writes what the page shows, as `ROUTE-LOOK-LANGUAGE`, where pictures are wanted. */
export async function keepPicture(opened: OpenPage, name: string): Promise<void> {
  if (FOLDER === undefined) return;
  const picture = await opened.picture();
  for (const folder of SHOWN.has(name) ? [FOLDER, DOCS] : [FOLDER]) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${name}.webp`), picture);
  }
}
