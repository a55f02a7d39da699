import { setImmediate as nextTurn } from 'node:timers/promises';
import { AtmoError } from '../../core/errors.ts';
import { type PageForm, PageWriter } from './page-writer.ts';

/** A page as it came. */
export interface Page {
  readonly html: string;
  /** Links are relative to it. */
  readonly url: string;
}

/** What hears the tags and texts of a page. */
interface PageHandler {
  onopentag(name: string, attributes: Record<string, string>): void;
  ontext(text: string): void;
  onclosetag(name: string): void;
}

interface ReadingBounds {
  readonly signal: AbortSignal;
  /** True as soon as the rest is not needed. */
  readonly isEnough?: () => boolean;
}

const SLICE = 16_384;
/** Beyond any page for people; at such depths a parser takes ever longer for each tag. */
const MAX_DEPTH = 1_000;

/**
 * Reads a page as Markdown or text without scripts and styles, until more than `maxCharacters` are written. SERVICE_REFUSED for a
 * page that no person could have meant.
 */
export async function pageText(
  { html, url }: Page,
  form: PageForm,
  { signal, maxCharacters }: { readonly signal: AbortSignal; readonly maxCharacters: number },
): Promise<string> {
  const writer = new PageWriter(url, form);
  await parsePage(html, writer, { signal, isEnough: () => writer.length > maxCharacters });
  return writer.text;
}

/** Feeds HTML to a handler, a piece at a time so that other work goes on meanwhile. Errors as those of `pageText`. */
export async function parsePage(html: string, handler: PageHandler, { signal, isEnough }: ReadingBounds): Promise<void> {
  const { Parser } = await import('htmlparser2');
  const parser = new Parser(boundedDepth(handler));
  for (let at = 0; at < html.length && !isEnough?.(); at += SLICE) {
    signal.throwIfAborted();
    parser.write(html.slice(at, at + SLICE));
    await nextTurn();
  }
  parser.end();
}

function boundedDepth(handler: PageHandler): PageHandler {
  let depth = 0;
  return {
    onopentag: (name, attributes) => {
      depth++;
      if (depth > MAX_DEPTH) throw new AtmoError('SERVICE_REFUSED', `The page nests more than ${MAX_DEPTH} tags; it is not for reading`);
      handler.onopentag(name, attributes);
    },
    ontext: (text) => handler.ontext(text),
    onclosetag: (name) => {
      depth--;
      handler.onclosetag(name);
    },
  };
}
