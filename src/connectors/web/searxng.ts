import { AtmoError } from '../../core/errors.ts';
import { visibleLine } from '../../core/foreign-text.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { callEndpoint, jsonOf } from '../http/endpoint-call.ts';

/** A search for pages. */
export interface WebSearch {
  readonly query: string;
  readonly count: number;
  readonly freshness: 'day' | 'week' | 'month' | 'year' | 'any';
  readonly isSafe: boolean;
  readonly signal: AbortSignal;
}

/** Pages in the order of the server, and how many it knows of. */
export interface WebFindings {
  readonly results: readonly { readonly title: string; readonly url: string; readonly snippet: string }[];
  readonly total: number;
}

/** Where SearXNG is. */
export interface SearxngServer {
  readonly url: string;
  readonly token?: string;
  readonly language?: string;
}

const SERVICE = 'The SearXNG server';
/** It gives a few dozen results a page. */
const MAX_PAGES = 10;

/**
 * Asks SearXNG (docs.searxng.org, "Search API"), page by page until there are `count` results or no new ones. Errors as those of
 * `callEndpoint`; SERVICE_REFUSED where the server gives no JSON, which its settings have to allow.
 */
export async function searchWeb(server: SearxngServer, search: WebSearch): Promise<WebFindings> {
  const found = new Map<string, WebFindings['results'][number]>();
  let total = 0;
  for (let page = 1; page <= MAX_PAGES && found.size < search.count; page++) {
    const answer = await askPage(server, search, page);
    const before = found.size;
    for (const result of resultsOf(answer)) if (!found.has(result.url)) found.set(result.url, result);
    total = Math.max(total, Number(answer.number_of_results ?? 0) || 0, found.size);
    if (found.size === before) break;
  }
  return { results: [...found.values()].slice(0, search.count), total };
}

async function askPage(server: SearxngServer, search: WebSearch, page: number): Promise<JsonObject> {
  const { token } = server;
  const headers = { accept: 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) };
  const call = {
    service: SERVICE,
    url: searchUrl(server, search, page),
    method: 'GET',
    isActing: false,
    headers,
    signal: search.signal,
  } as const;
  const answer = jsonOf(call, await callEndpoint(call).catch(explained));
  if (isJsonObject(answer) && Array.isArray(answer.results)) return answer;
  throw new AtmoError('SERVICE_REFUSED', `${SERVICE} answered without results; is its address right?`);
}

/** SearXNG answers 403 for every format that its settings do not list. */
function explained(error: unknown): never {
  if (!(error instanceof AtmoError) || error.details.status !== 403) throw error;
  throw new AtmoError('SERVICE_REFUSED', `${SERVICE} gives no JSON: add json to search.formats in its settings.yml`, { status: 403 });
}

function searchUrl({ url, language }: SearxngServer, { query, freshness, isSafe }: WebSearch, page: number): URL {
  const target = new URL('search', url.endsWith('/') ? url : `${url}/`);
  const parameters = { q: query, format: 'json', pageno: String(page), safesearch: isSafe ? '1' : '0' };
  for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, value);
  if (freshness !== 'any') target.searchParams.set('time_range', freshness);
  if (language !== undefined) target.searchParams.set('language', language);
  return target;
}

function resultsOf({ results }: JsonObject): WebFindings['results'] {
  return (results as readonly Json[]).filter(isJsonObject).flatMap(({ title, url, content }) => {
    if (typeof url !== 'string' || !/^https?:\/\//.test(url)) return [];
    return [{ title: line(title, 300), url: url.slice(0, 2_048), snippet: line(content, 1_000) }];
  });
}

function line(text: Json | undefined, max: number): string {
  return typeof text === 'string' ? visibleLine(text, max) : '';
}
