import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenPage } from './open-page.ts';

const FOLDER = process.env.SCREENS_DIR;

/** Writes what the page shows to the folder of SCREENS_DIR; nothing where it is not set. */
export async function keepPicture(opened: OpenPage, route: string): Promise<void> {
  if (FOLDER === undefined) return;
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, `${route.split('/')[0]}-${opened.look}.webp`), await opened.picture());
}
