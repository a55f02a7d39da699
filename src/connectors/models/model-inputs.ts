import { AtmoError } from '../../core/errors.ts';
import { p } from '../../tools/definition/define-tool.ts';
import type { ToolContext } from '../../tools/definition/tool-definition.ts';
import { hasPermission } from '../connector.ts';
import { type MediaType, mediaTypeOf } from '../media-type.ts';
import type { FetchPublic } from '../web/public-fetch.ts';

/** Parameter `model` of all tools that use a model. */
export const modelParameter = p
  .string({ description: 'Name of one of the models that the owner configured; the default one of the task when absent', maxLength: 64 })
  .optional();

/** Returns a parameter that takes a picture or recording, either as bytes or as a URL. */
export const mediaParameter = (description: string) =>
  p.string({
    description,
    minLength: 1,
    anyOf: [
      { type: 'string', description: 'The bytes', contentEncoding: 'base64' },
      { type: 'string', description: 'An address, a data: URI, or base64 of other forms' },
    ],
  });

/** Default time limit in milliseconds of tools that let a model write text or transcribe speech. */
export const LONG_TIMEOUT_MS = 120_000;
/** Default time limit in milliseconds of tools that compute embeddings or analyze pictures. */
export const SHORT_TIMEOUT_MS = 60_000;

/** Maximum size in bytes of a call's parameters if one is a picture or recording: room for some minutes of speech in base64. */
export const MAX_MEDIA_PARAMS_BYTES = 16 * 1_048_576;

/** The bytes of a picture or recording, with their media type. */
export interface Media extends MediaType {
  readonly bytes: Uint8Array<ArrayBuffer>;
}

type Caller = Pick<ToolContext, 'signal' | 'permissions'>;

interface MediaRequest {
  readonly kind: MediaType['kind'];
  readonly context: Caller;
  readonly fetchPublic: FetchPublic;
}

const WEB_URL = /^https?:\/\//i;
const DATA_URI = /^data:[^,]{0,200};base64,/;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
/** Maximum size of a picture or recording in MiB: enough for camera pictures and some minutes of speech. */
export const MAX_MEDIA_MB = 20;
const MAX_BYTES = MAX_MEDIA_MB * 1_048_576;

/**
 * Loads a picture or recording. `source` is `data:…;base64,…`, base64, or an http or https URL. For a URL, the caller needs net:read.
 * Rejects with VALIDATION_ERROR (another form or media type), PERMISSION_DENIED (no net:read), PAYLOAD_TOO_LARGE (a download over 20 MiB),
 * SERVICE_REFUSED (the URL returns no status 2xx), or the errors of the fetch.
 */
export async function loadMedia(source: string, { kind, context, fetchPublic }: MediaRequest): Promise<Media> {
  const bytes = WEB_URL.test(source) ? await fetched(source, context, fetchPublic) : decoded(source.replace(DATA_URI, ''));
  const type = mediaTypeOf(bytes);
  if (type?.kind === kind) return { ...type, bytes };
  const message = `What ${kind} names is ${type?.type ?? 'of an unknown form'} and no ${kind}; ${KNOWN_FORMATS[kind]}`;
  throw new AtmoError('VALIDATION_ERROR', message);
}

const KNOWN_FORMATS = { image: 'JPEG, PNG, GIF and WebP are known', audio: 'WAV, MP3, FLAC, Ogg, M4A and WebM are known' } as const;

async function fetched(url: string, context: Caller, fetchPublic: FetchPublic): Promise<Uint8Array<ArrayBuffer>> {
  if (!hasPermission(context.permissions, 'net:read')) {
    const message = 'To name an address of the web takes the permission net:read; give the file in base64';
    throw new AtmoError('PERMISSION_DENIED', message, { required: ['net:read'] });
  }
  const { status, body } = await fetchPublic({ url, signal: context.signal, maxBytes: MAX_BYTES });
  if (status >= 200 && status < 300) return body;
  throw new AtmoError('SERVICE_REFUSED', `The address answered ${status} instead of a file`, { status });
}

function decoded(text: string): Uint8Array<ArrayBuffer> {
  const plain = text.replaceAll(/\s/g, '');
  if (!BASE64.test(plain)) {
    throw new AtmoError('VALIDATION_ERROR', 'The media is neither base64, nor a data: URI with base64, nor an http(s) address');
  }
  return new Uint8Array(Buffer.from(plain, 'base64'));
}
