import type { PublicAnswer } from './fetch-public.ts';

const TEXT_TYPE = /^(text\/|application\/(json|xml|javascript|ecmascript|yaml|x-yaml|x-ndjson|sql|toml|graphql)$|[^;]+\+(json|xml|yaml)$)/;
const CHARSET = /charset\s*=\s*["']?([\w.:-]+)/i;
/** Pages may say how they are written in their first bytes (HTML Standard, "prescan a byte stream"). */
const PRESCAN_BYTES = 1_024;
const MARKS: readonly (readonly [string, readonly number[]])[] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
];

type TextualAnswer = Pick<PublicAnswer, 'headers' | 'body'>;

/** The media type of an answer in lower case and without parameters; empty where it says none. */
export function mediaType({ headers }: Pick<PublicAnswer, 'headers'>): string {
  return (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

/** True for HTML, by its media type. */
export function isPage(answer: Pick<PublicAnswer, 'headers'>): boolean {
  return ['text/html', 'application/xhtml+xml'].includes(mediaType(answer));
}

/** The body as text in the charset that it says; undefined for pictures and all else that is no text. */
export function bodyText(answer: TextualAnswer): string | undefined {
  const type = mediaType(answer);
  if (type === '') return plainText(answer.body);
  return TEXT_TYPE.test(type) ? decoderOf(answer).decode(answer.body) : undefined;
}

/** What says nothing of itself is text when it is UTF-8 without control characters that no text holds. */
function plainText(body: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

function decoderOf(answer: TextualAnswer) {
  const { headers, body } = answer;
  const marked = MARKS.find(([, mark]) => mark.every((byte, index) => body[index] === byte))?.[0];
  const said = CHARSET.exec(headers.get('content-type') ?? '')?.[1];
  const inPage = () => (isPage(answer) ? CHARSET.exec(new TextDecoder('latin1').decode(body.subarray(0, PRESCAN_BYTES)))?.[1] : undefined);
  try {
    return new TextDecoder(marked ?? said ?? inPage() ?? 'utf-8');
  } catch {
    return new TextDecoder('utf-8');
  }
}
