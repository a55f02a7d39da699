import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AtmoError, systemCode } from '../../core/errors.ts';
import type { Answer } from '../server/answer.ts';
import { defineRoute, type Route, type RouteRequest } from '../server/route.ts';

/** Policy: the page may load only its own files, must not run text as code, and must not be shown in a frame. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  'media-src blob:',
  "worker-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  // `service-worker` names the one script that the page may register (src/web/api/page-worker.ts).
  'trusted-types lit-html service-worker',
].join('; ');
const SHELL_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'permissions-policy': 'camera=(self), geolocation=(), microphone=()',
  'cross-origin-opener-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'cache-control': 'no-cache',
};
/**
 * The address of a request for access is kept nowhere. Chat applications open it in a popup and wait until that closes; with the opener
 * policy of the page, the popup would look closed to them at once.
 */
const CONSENT_HEADERS = {
  ...SHELL_HEADERS,
  'cross-origin-opener-policy': 'unsafe-none',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
};
/** Policy of the service worker, which may only fetch the files of the page from this hub. */
const WORKER_HEADERS = { 'content-security-policy': "default-src 'none'; connect-src 'self'", 'cache-control': 'no-cache' };
const MANIFEST_HEADERS = { 'cache-control': 'no-cache' };
/** Assets can be cached forever, because an asset's name contains the hash of its content. */
const ASSET_HEADERS = { 'cache-control': 'public, max-age=31536000, immutable' };

/** Returns the routes of the web page. They are public: the page contains no data of the home, and reads all data with a token. */
export function pageRoutes(files: PageFiles): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/',
      summary: 'The monitor page for people',
      access: 'public',
      answers: { 200: 'text/html' },
      handle: async (request) => fileAnswer(request, await files.root('index.html', request.header('accept-encoding')), SHELL_HEADERS),
    }),
    defineRoute({
      method: 'GET',
      path: '/manifest.webmanifest',
      summary: 'What a phone needs to take the page as an app (W3C Web Application Manifest)',
      access: 'public',
      answers: { 200: 'application/manifest+json' },
      handle: async (request) =>
        fileAnswer(request, await files.root('manifest.webmanifest', request.header('accept-encoding')), MANIFEST_HEADERS),
    }),
    defineRoute({
      method: 'GET',
      path: '/service-worker.js',
      summary: 'The service worker of the page, which keeps the page for times without the hub and shows notices',
      access: 'public',
      answers: { 200: 'text/javascript' },
      handle: async (request) =>
        fileAnswer(request, await files.root('service-worker.js', request.header('accept-encoding')), WORKER_HEADERS),
    }),
    defineRoute({
      method: 'GET',
      path: '/assets/:name',
      summary: 'A file of the monitor page; its name changes with its content',
      access: 'public',
      answers: { 200: 'a script, style sheet or picture' },
      async handle(request) {
        const file = await files.asset(request.path.name ?? '', request.header('accept-encoding'));
        return fileAnswer(request, file, ASSET_HEADERS);
      },
    }),
  ];
}

/** Paths at which the page asks a person whether an application may have access. */
const CONSENT_PATHS = ['/oauth/authorize', '/oauth/device'] as const;

/**
 * Returns the routes of the addresses to which applications send people. They answer with the page alone, which reads the query and asks
 * with the token of the person; nothing happens by opening such an address.
 */
export function consentPageRoutes(files: PageFiles): readonly Route[] {
  return CONSENT_PATHS.map((path) =>
    defineRoute({
      method: 'GET',
      path,
      summary: 'The page that asks a person whether an application may have access',
      access: 'public',
      takesAnyQuery: true,
      answers: { 200: 'text/html' },
      handle: async (request) => fileAnswer(request, await files.root('index.html', request.header('accept-encoding')), CONSENT_HEADERS),
    }),
  );
}

function fileAnswer(request: RouteRequest, { bytes, contentType, coding }: PageFile, headers: Record<string, string>): Answer {
  const etag = `"${hash('sha256', bytes, 'hex').slice(0, 16)}"`;
  const about = { ...headers, etag, vary: 'accept-encoding' };
  if (isKnown(request.header('if-none-match'), etag)) return { status: 304, headers: about, body: '' };
  return {
    status: 200,
    headers: {
      ...about,
      'content-type': contentType,
      'content-length': String(bytes.length),
      ...(coding && { 'content-encoding': coding }),
    },
    body: new Blob([bytes]).stream(),
  };
}

function isKnown(header: string | undefined, etag: string): boolean {
  return header !== undefined && (header.trim() === '*' || header.split(',').some((known) => known.trim().replace(/^W\//, '') === etag));
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml',
  webmanifest: 'application/manifest+json',
};
/** Content codings of the precompressed files, each with its file ending. The coding with the smallest files comes first. */
const CODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;
/** Matches file names of the built assets: a name, a hash and an ending. No other asset is read. */
const ASSET = /^[a-z][a-z0-9-]{0,63}-[A-Z0-9]{8}\.(?:css|js|png|svg)$/;

/** The files of the page that have no hash in their name. */
type RootFile = 'index.html' | 'manifest.webmanifest' | 'service-worker.js';

interface PageFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly contentType: string;
  /** The content coding of `bytes` (RFC 9110 §8.4); absent if they are not compressed. */
  readonly coding?: string;
}

/** The files of the built web page. */
export class PageFiles {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Resolves with the page's HTML file, manifest or service worker. Rejects with NOT_CONFIGURED if the page was never built. */
  async root(name: RootFile, acceptEncoding: string | undefined): Promise<PageFile> {
    const file = await this.#read(name, acceptEncoding);
    if (file) return file;
    throw new AtmoError('NOT_CONFIGURED', 'The hub has no page: install the package again, or run ./scripts/setup in the checkout');
  }

  /** Resolves with an asset of the page. Rejects with NOT_FOUND if the name is not an asset of the build. */
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

/** Returns whether an Accept-Encoding header allows the coding. `q=0` forbids a coding (RFC 9110 §12.5.3). */
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
