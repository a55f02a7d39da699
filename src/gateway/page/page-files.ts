import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import { systemCode } from '../../core/process/system-code.ts';

/** Where scripts/build-page.ts puts the monitor: beside the bundle in a release, in the checkout's dist otherwise. */
export const PAGE_DIR = join(import.meta.dirname, '../../../dist/page');

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};
/** Codings with a ready file beside each one, the smaller first, with the ending of that file. */
const CODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;
/** What the build makes: a name, a hash, an ending. Nothing else is looked for on the disk. */
const ASSET = /^[a-z][a-z0-9-]{0,63}-[A-Z0-9]{8}\.(?:css|js|svg)$/;

/** One file as it goes to a browser. */
export interface PageFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly contentType: string;
  /** The content coding of `bytes` (RFC 9110 §8.4), absent when they are plain. */
  readonly coding?: string;
}

/** The files of the built monitor page. */
export class PageFiles {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** The page itself. NOT_CONFIGURED when it was never built. */
  async shell(acceptEncoding: string | undefined): Promise<PageFile> {
    const file = await this.#read('index.html', acceptEncoding);
    if (file) return file;
    throw new AtmoError('NOT_CONFIGURED', 'The monitor page is not built; run scripts/setup in the checkout, or install a release');
  }

  /** A file that the page names. NOT_FOUND for every other name. */
  async asset(name: string, acceptEncoding: string | undefined): Promise<PageFile> {
    const file = ASSET.test(name) ? await this.#read(join('assets', name), acceptEncoding) : undefined;
    if (file) return file;
    throw new AtmoError('NOT_FOUND', `The page has no file ${JSON.stringify(name.slice(0, 128))}; reload it to get those of this version`);
  }

  async #read(path: string, acceptEncoding: string | undefined): Promise<PageFile | undefined> {
    const contentType = CONTENT_TYPES[path.slice(path.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
    for (const [coding, ending] of CODINGS) {
      if (!accepts(acceptEncoding, coding)) continue;
      const bytes = await bytesOf(join(this.#dir, path + ending));
      if (bytes) return { bytes, contentType, coding };
    }
    const bytes = await bytesOf(join(this.#dir, path));
    return bytes && { bytes, contentType };
  }
}

/** Whether an Accept-Encoding names the coding without forbidding it by `q=0` (RFC 9110 §12.5.3). */
function accepts(header: string | undefined, coding: string): boolean {
  const ranges = header?.toLowerCase().split(',') ?? [];
  return ranges.some((range) => {
    const [name, ...parameters] = range.split(';').map((part) => part.trim());
    return name === coding && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
}

async function bytesOf(path: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
