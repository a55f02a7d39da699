import { hash } from 'node:crypto';
import type { Answer } from '../door/answer.ts';
import { type DoorRequest, defineRoute, type Route } from '../door/route.ts';
import type { PageFile, PageFiles } from './page-files.ts';

/** The page loads nothing but its own files, runs no text as code and cannot be framed. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  'media-src blob:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types lit-html',
].join('; ');
const SHELL_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'permissions-policy': 'camera=(self), geolocation=(), microphone=()',
  'cross-origin-opener-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'cache-control': 'no-cache',
};
/** An asset's name holds the hash of its content. */
const ASSET_HEADERS = { 'cache-control': 'public, max-age=31536000, immutable' };

/** The monitor page: public, since it holds nothing of the home; what it shows it asks the API for, with a token. */
export function pageRoutes(files: PageFiles): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/',
      summary: 'The monitor page for people',
      access: 'public',
      answers: { 200: 'text/html' },
      handle: async (request) => fileAnswer(request, await files.shell(request.header('accept-encoding')), SHELL_HEADERS),
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

function fileAnswer(request: DoorRequest, { bytes, contentType, coding }: PageFile, headers: Record<string, string>): Answer {
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
