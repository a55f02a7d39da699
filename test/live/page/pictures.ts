import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenPage } from './open-page.ts';

const FOLDER = process.env.SCREENS_DIR;
/** What the documents show; `SCREENS=all` keeps every view, for somebody who looks at the design. */
const SHOWN = ['home-light', 'devices-dark', 'approvals-phone', 'tools-light', 'agents-light'];

/** Writes what the page shows to the folder of SCREENS_DIR; nothing where it is not set. */
export async function keepPicture(opened: OpenPage, route: string): Promise<void> {
  const name = `${route.split('/')[0]}-${opened.look}`;
  if (FOLDER === undefined || (process.env.SCREENS !== 'all' && !SHOWN.includes(name))) return;
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, `${name}.webp`), await opened.picture());
}
